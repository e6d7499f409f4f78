/** The texts that say what a chart draws. */

import { type Aggregate, aggregates } from '../../state/rows/decimals.ts';
import { count, counted } from '../format.ts';
import type { ChartSettings, Shaped } from './shape.ts';

const isNamed = ({ kind, aggregate }: ChartSettings, repeats: boolean): boolean =>
  aggregate === 'count' || (repeats && kind !== 'points' && aggregate !== 'none');

/** What a chart draws: `sum of revenue, €`. A value of one row is not called a sum. */
export function drawnName(settings: ChartSettings, repeats: boolean): string {
  const { y, aggregate, unit } = settings;
  const columns = y.join(', ');
  const drawn = isNamed(settings, repeats)
    ? aggregate === 'last'
      ? `last ${columns}`
      : `${nameOf(aggregate)} of ${columns}`
    : columns;
  return unit === undefined ? drawn : `${drawn}, ${unit}`;
}

interface NoteOptions {
  settings: ChartSettings;
  truncated: boolean;
  filter: string;
}

/** Says which rows are drawn, and how. */
export function notesOf(shaped: Shaped, { settings, truncated, filter }: NoteOptions): string[] {
  const { rows, rowsLeft, repeats, seriesLeft, labelsLeft, valuesLeft } = shaped;
  const { aggregate } = settings;
  const what = filter === '' ? 'All' : 'The';
  const isWhole = labelsLeft + seriesLeft + rowsLeft + valuesLeft === 0;
  const notes = [
    truncated ? `These are the first ${count(rows)} rows; the query has more.` : '',
    isWhole && !truncated ? `${what} ${counted(rows, 'row')} ${rows === 1 ? 'is' : 'are'} drawn.` : '',
    ...leftOf(shaped, settings),
    repeats ? repeatsText(settings) : '',
    aggregate === 'mean' && shaped.series.some(({ texts }) => texts?.some((text) => text?.startsWith('≈')))
      ? '≈ marks means that are rounded.'
      : '',
  ];
  return notes.filter((note) => note !== '');
}

/** Says what of the rows has no room, or no place of its own. */
export function leftOf(shaped: Shaped, { x, split }: ChartSettings): string[] {
  const { rowsLeft, merged, seriesLeft, labelsLeft, valuesLeft } = shaped;
  const absent = shaped.kind === 'stacked-areas' ? absentOf(shaped) : 0;
  const labels = shaped.x.kind === 'label' ? shaped.x.labels.length : 0;
  const of = split === undefined ? '' : ` of ${split}`;
  const notes = [
    labelsLeft > 0
      ? `The first ${count(labels)} values of ${x} are drawn; ${count(labelsLeft)} more have no room.`
      : '',
    rowsLeft > 0
      ? `${counted(rowsLeft, 'row')} without ${x} ${rowsLeft === 1 ? 'is' : 'are'} not drawn.`
      : '',
    merged > 0 ? `${count(merged)} series${of} are drawn as one.` : '',
    seriesLeft > 0 ? `${count(seriesLeft)} series${of} have no room and are not drawn.` : '',
    valuesLeft > 0
      ? `${counted(valuesLeft, 'value')} ${valuesLeft === 1 ? 'is' : 'are'} NULL or no finite number, and not drawn.`
      : '',
    absent > 0 ? `At ${counted(absent, 'place')} a series has no row; there its area has no height.` : '',
  ];
  return notes.filter((note) => note !== '');
}

/** The number of places where a series has no row. */
const absentOf = ({ series }: Shaped): number =>
  series.reduce((sum, { values }) => sum + values.filter((value) => value === undefined).length, 0);

function repeatsText({ x, split, aggregate }: ChartSettings): string {
  const same = split === undefined ? x : `${x} and ${split}`;
  if (aggregate !== 'none') return `Rows with the same ${same} are combined: ${nameOf(aggregate)}.`;
  return `Several rows have the same ${same}. Each is drawn by itself, because values such as averages must not be added. “Combine” says how else.`;
}

const nameOf = (aggregate: Aggregate): string => aggregates.find(([one]) => one === aggregate)?.[1] ?? '';
