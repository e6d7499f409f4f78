import { expect, it } from 'vitest';
import type { ListedQuery } from '../../../src/api/types.ts';
import {
  asksOf,
  type BoardCard,
  fieldText,
  fieldValue,
  fromQuery,
  isMinutes,
  queryOf,
  shownQuery,
  textParts,
  toBody,
  toCardValues,
  toQuery,
  toStored,
} from '../../../src/pages/board/board.ts';

const query = (queryId: string, path?: string) =>
  ({
    meta: { label: `of ${queryId}`, path },
    config: {
      ...{ query: { queryId, query: '' }, source: { engine: 'postgres' }, context: [] },
      presentation: { pinned: true, chart: { kind: 'lines' } },
    },
  }) as unknown as ListedQuery;
const queries = [query('a'), query('b', 'sales/b')];

it('finds the query of a card by id or path, and none for a text', () => {
  expect(queryOf({ queryId: 'a' }, queries)).toBe(queries[0]);
  expect(queryOf({ path: 'sales/b' }, queries)).toBe(queries[1]);
  expect(queryOf({ path: 'none' }, queries)).toBeUndefined();
  expect(queryOf({ text: 'x' }, queries)).toBeUndefined();
});

it('leaves to the board only the variables that a card does not fix', () => {
  const two = query('a');
  two.config.context = [{ key: 'region' }, { key: 'n' }];
  two.config.query.query = 'SELECT :n, :day';
  const asked = asksOf({ queryId: 'a', values: { n: 5 } }, [two]);
  expect(asked).toEqual([{ key: 'region' }, { key: 'day' }]);
  expect(asksOf({ text: 'x' }, [two])).toEqual([]);
});

it('shows a query with the name and the chart of its card', () => {
  const card: BoardCard = { queryId: 'a', label: 'Mine', presentation: { chart: { kind: 'bars' } } };
  const shown = shownQuery(queries[0] as ListedQuery, card);
  expect(shown.meta.label).toBe('Mine');
  expect(shown.config.presentation).toEqual({ pinned: true, chart: { kind: 'bars' } });
  expect(shownQuery(queries[0] as ListedQuery, { queryId: 'a' })).toEqual(queries[0]);
});

it('changes a list in a field, and sends nothing for an empty one', () => {
  expect(fieldText(['1', '2'])).toBe('1, 2');
  expect(fieldValue('1, 2,3', ['1', '2'])).toEqual(['1', '2', '3']);
  expect(fieldValue('', ['1', '2'])).toBe('');
  expect(fieldValue('Doe, John', 'Doe')).toBe('Doe, John');
});

it('writes values into a link and reads them again', () => {
  const values = toCardValues({ region: 'a & b', ids: [1, 2], on: true, n: 0 });
  const link = toQuery(values);
  expect(link).toBe('region=a%20%26%20b&ids=1&ids=2&on=true&n=0');
  expect(fromQuery(link)).toEqual(values);
  expect(fromQuery('')).toEqual({});
});

it('takes titles and paragraphs from a text', () => {
  expect(textParts('# Today\nOne line\nand more.\n\nNext.\n# End')).toEqual([
    { isTitle: true, text: 'Today' },
    { isTitle: false, text: 'One line\nand more.' },
    { isTitle: false, text: 'Next.' },
    { isTitle: true, text: 'End' },
  ]);
  expect(textParts('#1 is no title')).toEqual([{ isTitle: false, text: '#1 is no title' }]);
});

it('sends null for what a board lacks', () => {
  const draft = { label: 'B', path: ' ', refreshMinutes: '', cards: [] };
  expect(toBody({ ...draft, values: { a: '1' } }, {})).toEqual({
    ...{ label: 'B', path: null, refreshMinutes: null, cards: [] },
    values: { a: '1' },
  });
});

it('leaves values that nobody changed as they are stored', () => {
  const stored = { n: 5, on: true, ids: [1, 2], day: '2026-01-01', region: 'north' };
  const shown = toCardValues(stored);
  expect(toStored(shown, stored)).toEqual(stored);
  expect(toStored({ ...shown, n: '6', x: '1' }, stored)).toEqual({ ...stored, n: '6', x: '1' });
  expect([isMinutes(''), isMinutes('5'), isMinutes('0'), isMinutes('1.5')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
