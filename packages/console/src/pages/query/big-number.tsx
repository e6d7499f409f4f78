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
      {shaped.series.map(({ name, texts = [] }) => (
        <p key={name}>
          <b>{texts[0] === null || texts[0] === undefined ? '–' : grouped(texts[0])}</b>{' '}
          <span class="note">{drawnName({ ...settings, y: [name] }, shaped.repeats)}</span>
        </p>
      ))}
      {shaped.rows > 1 && settings.aggregate === 'last' && (
        <p class="hint">The last of {counted(shaped.rows, 'row')}.</p>
      )}
    </div>
  );
}
