/** The place of a chart. Its bundle is loaded with the first chart. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { addressOf } from '../../api/client.ts';
import { theme } from '../../state/theme.ts';
import type { ChartModule, ChartOptions } from './protocol.ts';

interface ChartProps {
  /** What the chart shows, for those who do not see it. */
  label: string;
  /** Undefined if there is nothing to draw. */
  draw(): Omit<ChartOptions, 'host'> | undefined;
  /** The chart is drawn again when one of these changes. */
  on: unknown[];
}

export function Chart({ label, draw, on }: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    const element = host.current;
    const options = draw();
    if (element === null || options === undefined) return;
    let close: (() => void) | undefined;
    let current = true;
    const load = async () => {
      const { drawChart }: ChartModule = await import(/* @vite-ignore */ addressOf('console/chart.js'));
      if (current) close = drawChart({ host: element, ...options });
    };
    load().catch(() => setFailed(true));
    return () => {
      current = false;
      close?.();
    };
  }, [...on, theme.value]);
  return (
    <>
      {failed && <p class="empty">The chart could not be loaded. Reload the page.</p>}
      <div class="chart" ref={host} role="img" aria-label={label} />
    </>
  );
}
