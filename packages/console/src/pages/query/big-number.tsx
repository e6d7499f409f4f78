/** One number for all rows, to be read from afar. */

import { grouped } from '../../state/rows/scan.ts';
import type { ChartRows, ChartSettings } from '../../ui/chart/shape.ts';
import { useShaped } from '../../ui/chart/use-shaped.ts';
import { drawnName } from '../../ui/chart/words.ts';
import { counted } from '../../ui/format.ts';

interface BigNumberProps {
  store: ChartRows;
  /** Changes with the rows. */
  turn: number;
  settings: ChartSettings;
}

export function BigNumber({ store, turn, settings }: BigNumberProps) {
  const shaped = useShaped(store, turn, settings);
  if (shaped === undefined) return null;
  return (
    <div class="big-numbers">
      {shaped.series.map(({ name, texts: [value] = [] }) => (
        <p key={name}>
          <InOneLine text={grouped(value ?? '–')} />{' '}
          <span class="note">{drawnName({ ...settings, y: [name] }, shaped.repeats)}</span>
        </p>
      ))}
      {shaped.rows > 1 && (settings.aggregate === 'last' || settings.aggregate === 'none') && (
        <p class="hint">
          The {settings.aggregate === 'last' ? 'last' : 'first'} of {counted(shaped.rows, 'row')}.
        </p>
      )}
    </div>
  );
}

/** As large as fits: a digit is about 0.62 of its size wide. */
const InOneLine = ({ text }: { text: string }) => (
  <b style={{ fontSize: `clamp(14px, ${Math.floor(100 / (text.length * 0.62))}cqi, 40px)` }}>{text}</b>
);
