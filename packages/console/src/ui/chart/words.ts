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
  const { rows, rowsLeft, repeats, merged, seriesLeft, labelsLeft } = shaped;
  const { x, split = 'the series', aggregate } = settings;
  const labels = shaped.x.kind === 'label' ? shaped.x.labels.length : 0;
  const what = filter === '' ? 'All' : 'The';
  const notes = [
    truncated
      ? `The first ${count(rows)} rows are drawn; the query has more.`
      : labelsLeft > 0
        ? `The first ${count(labels)} values of ${x} are drawn; ${count(labelsLeft)} more have no room.`
        : seriesLeft > 0 || rowsLeft > 0
          ? ''
          : `${what} ${counted(rows, 'row')} ${rows === 1 ? 'is' : 'are'} drawn.`,
    rowsLeft > 0
      ? `${counted(rowsLeft, 'row')} without ${x} ${rowsLeft === 1 ? 'is' : 'are'} not drawn.`
      : '',
    repeats ? repeatsText(settings) : '',
    merged > 0 ? `The ${count(merged)} smallest of ${split} are drawn as one.` : '',
    seriesLeft > 0 ? `The ${count(seriesLeft)} smallest of ${split} have no room.` : '',
    aggregate === 'mean' && shaped.series.some(({ texts }) => texts?.some((text) => text?.startsWith('≈')))
      ? '≈ marks means that are rounded.'
      : '',
  ];
  return notes.filter((note) => note !== '');
}

function repeatsText({ x, split, aggregate }: ChartSettings): string {
  const same = split === undefined ? x : `${x} and ${split}`;
  if (aggregate !== 'none') return `Rows with the same ${same} are combined: ${nameOf(aggregate)}.`;
  return `Several rows have the same ${same}. Each is drawn by itself, because values such as averages must not be added. “Combine” says how else.`;
}

const nameOf = (aggregate: Aggregate): string => aggregates.find(([one]) => one === aggregate)?.[1] ?? '';
