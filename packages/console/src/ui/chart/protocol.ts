export interface ChartSeries {
  name: string;
  values: (number | null)[];
}

export interface ChartOptions {
  /** Name of what runs along the axis below. */
  across: string;
  host: HTMLElement;
  kind: 'line' | 'bar';
  /** Labels below the axis, or points in time in seconds, or numbers. */
  x: { kind: 'label'; labels: string[] } | { kind: 'time' | 'number'; values: number[] };
  series: ChartSeries[];
  /** The scale of the values, and what follows each; by default it fits the values. */
  y?: { from: number; to: number; unit: string };
}

export interface ChartModule {
  /** Answers how to remove it. */
  drawChart(options: ChartOptions): () => void;
}
