import { expect, it } from 'vitest';
import { evenly, secondsOf, stepsFor, tickLabels, timeLabels } from '../../../src/ui/chart/labels.ts';
import { bandsOf, boundsOf } from '../../../src/ui/chart/stack.ts';

const day = 86_400;

it('reads dates and times; without a zone they are in UTC', () => {
  expect(secondsOf('1970-01-02')).toBe(day);
  expect(secondsOf('1970-01-02T00:00:01')).toBe(day + 1);
  expect(secondsOf('1970-01-02 00:00:00.500')).toBe(day + 0.5);
  expect(secondsOf('1970-01-02T02:00:00+02')).toBe(day);
  expect(secondsOf('1970-02')).toBe(31 * day);
  expect(secondsOf('2026-02-31')).toBeNaN();
  expect(secondsOf('2026-13')).toBeNaN();
  expect(secondsOf('12:00')).toBeNaN();
  expect(secondsOf('null')).toBeNaN();
});

it('writes points in time as short as all of them allow', () => {
  const labels = (...texts: string[]) => timeLabels(texts.map(secondsOf));
  expect(labels('2026-01-01', '2026-02-01')).toEqual(['2026-01', '2026-02']);
  expect(labels('2026-01-01', '2026-01-02')).toEqual(['2026-01-01', '2026-01-02']);
  expect(labels('2026-01-01')).toEqual(['2026-01-01']);
  expect(labels('2026-01-01T10:30:00Z', '2026-01-01')).toEqual(['2026-01-01 10:30', '2026-01-01 00:00']);
});

it('writes the year and the day where they change', () => {
  const months = ['2025-11-01', '2025-12-01', '2026-01-01'].map(secondsOf);
  expect(tickLabels(months, 30 * day)).toEqual(['11\n2025', '12', '01\n2026']);
  const hours = ['2026-01-01T12:00:00Z', '2026-01-01T18:00:00Z', '2026-01-02T00:00:00Z'].map(secondsOf);
  expect(tickLabels(hours, 21_600)).toEqual(['12:00\n2026-01-01', '18:00', '00:00\n2026-01-02']);
});

it('stacks positive values upwards and negative ones downwards', () => {
  const series = [
    { name: 'a', values: [1, -2] },
    { name: 'b', values: [3, 4] },
    { name: 'c', values: [null, -1] },
  ];
  const bands = bandsOf(series, 'stacked-bars');
  expect(bands.map(({ bottoms }) => bottoms)).toEqual([
    [0, 0],
    [1, 0],
    [4, -2],
  ]);
  expect(bands.map(({ tops }) => tops)).toEqual([
    [1, -2],
    [4, 4],
    [null, -3],
  ]);
  expect(boundsOf(bands)).toEqual([-3, 4]);
  expect(boundsOf([])).toEqual([0, 1]);
});

it('samples labels evenly, with the first and the last', () => {
  expect(evenly([0, 10], 20)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(evenly([0, 10], 6)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(evenly([0, 11], 6)).toEqual([0, 4, 7, 11]);
  expect(evenly([0, 18], 15)).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
  expect(evenly([0, 23], 15)).toEqual([0, 2, 4, 6, 8, 10, 13, 15, 17, 19, 21, 23]);
  expect(evenly([3, 40], 2)).toEqual([3, 40]);
  expect(evenly([0, 0], 5)).toEqual([0]);
  expect(evenly([0, -1], 5)).toEqual([]);
});

it('has whole steps for whole numbers', () => {
  expect(stepsFor([[1, null], [2]])?.slice(0, 5)).toEqual([1, 2, 5, 10, 20]);
  expect(stepsFor([[1, 2], [0.5]])).toBeUndefined();
});
