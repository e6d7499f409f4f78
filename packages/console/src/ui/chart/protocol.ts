/** What a chart draws. Kinds that fill an area down to zero always show zero. */
export const chartKinds = [
  ['bars', 'Bars'],
  ['stacked-bars', 'Stacked bars'],
  ['lines', 'Lines'],
  ['areas', 'Areas'],
  ['stacked-areas', 'Stacked areas'],
  ['points', 'Points'],
] as const;
export type ChartKind = (typeof chartKinds)[number][0];

export interface ChartSeries {
  name: string;
  /** Where the values are drawn: null for NULL, and undefined where the series has no row. */
  values: (number | null | undefined)[];
  /** The values as they are written, with their unit; without them, the numbers are rounded for reading. */
  texts?: (string | null)[] | undefined;
}

/** Labels below the axis, or points in time in seconds, or numbers. Points in time and numbers rise. */
export type ChartAxis = (
  | { kind: 'label'; labels: string[] }
  | { kind: 'time' | 'number'; values: number[] }
) & {
  /** The places as they are written; without them, as they are labelled. */
  texts?: string[] | undefined;
};

export interface ChartData {
  kind: ChartKind;
  x: ChartAxis;
  series: ChartSeries[];
  /** True if what is stacked at a place has a sum. */
  hasSum?: boolean;
  /** The scale of the values, and what follows each number; by default it fits the values. */
  y?: { from: number; to: number; unit: string } | undefined;
}

export interface ChartOptions extends ChartData {
  host: HTMLElement;
  /** A small chart has fewer labels. */
  small: boolean;
  /** The index along the axis that the pointer is at; undefined if it left. */
  onPoint(index: number | undefined): void;
}

export interface ChartModule {
  /** Answers how to remove it. */
  drawChart(options: ChartOptions): () => void;
}

export const isStacked = (kind: ChartKind): boolean => kind.startsWith('stacked');
/** The number of colours in the style sheet. */
export const colorsMax = 8;
