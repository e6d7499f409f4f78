/** The chart of rows, made again when the rows or the settings change. */

import { useEffect, useState } from 'preact/hooks';
import { type ChartRows, type ChartSettings, type Shaped, shape } from './shape.ts';

/** Undefined until it is made. `turn` changes with the rows. */
export function useShaped(rows: ChartRows, turn: number, settings: ChartSettings): Shaped | undefined {
  const [shaped, setShaped] = useState<Shaped>();
  useEffect(() => {
    let current = true;
    void shape(rows, settings, () => current).then(
      (made) => current && made !== undefined && setShaped(made),
    );
    return () => {
      current = false;
    };
  }, [rows, turn, JSON.stringify(settings)]);
  return shaped;
}
