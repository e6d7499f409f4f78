/** One number for all rows, to be read from afar. */

import { grouped } from '../../state/rows/scan.ts';
import type { ChartRows, ChartSettings } from '../../ui/chart/shape.ts';
import { useShaped } from '../../ui/chart/use-shaped.ts';
import { drawnName } from '../../ui/chart/words.ts';
import { counted } from '../../ui/format.ts';

/** The most characters that fit into the line of a card in large digits. */
const largeMax = 8;

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
          <b class={(value?.length ?? 0) > largeMax ? 'long' : undefined}>{grouped(value ?? '–')}</b>{' '}
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
