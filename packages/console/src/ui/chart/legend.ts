/** The texts beside and below a chart. */

import { combined, shareOf, toPixelValue } from '../../state/rows/decimals.ts';
import { grouped } from '../../state/rows/scan.ts';
import { figure } from '../format.ts';
import { timeLabels } from './labels.ts';
import { type ChartAxis, type ChartData, type ChartSeries, isStacked } from './protocol.ts';

export function placeName(x: ChartAxis, at: number): string {
  const text = x.texts?.[at];
  if (text !== undefined) return text;
  if (x.kind === 'label') return x.labels[at] ?? '';
  const value = x.values[at] ?? 0;
  return x.kind === 'time' ? (timeLabels([value])[0] ?? '') : figure(value);
}

/** A value with all its digits, or a number for reading. */
export const valueText = ({ values, texts }: ChartSeries, at: number): string | undefined => {
  const text = texts?.[at];
  if (texts !== undefined) return text === null || text === undefined ? undefined : grouped(text);
  const value = values[at];
  return value === null || value === undefined ? undefined : figure(value);
};

/** The exact sum of what is stacked at a place, with the share of each; undefined if the values are no parts of a sum. */
export function stackOf({ kind, series, hasSum }: ChartData, place: number) {
  const texts = series.map((one) => one.texts?.[place] ?? undefined);
  const parts = texts.filter((text) => text !== undefined);
  if (hasSum !== true || !isStacked(kind) || series.length < 2 || parts.length === 0) return undefined;
  const sum = combined(parts, 'sum');
  const isWhole = parts.every((text) => toPixelValue(text) !== null && !text.startsWith('-'));
  return isWhole
    ? { sum, shares: texts.map((text) => (text === undefined ? undefined : shareOf(text, sum))) }
    : undefined;
}
