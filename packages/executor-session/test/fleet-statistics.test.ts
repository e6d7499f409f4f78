import type { QueryFigures, ReadStatisticsResponse } from '@datahub/proto/executor/v1/executor';
import { expect, test } from 'vitest';
import { mergeStatistics, sumFigures } from '../src/fleet-statistics.ts';

const figures = (calls: number, bucket: number, code: string): QueryFigures => ({
  calls,
  consoleCalls: 2,
  cacheHits: 1,
  rows: 10 * calls,
  bytes: 100 * calls,
  errors: [{ code, calls: 1 }],
  queue: { buckets: [0], counts: [calls] },
  database: { buckets: [bucket], counts: [calls] },
  total: { buckets: [0, bucket], counts: [1, calls] },
});
const answerOf = (queryId: string, all: QueryFigures): ReadStatisticsResponse => ({
  queries: [
    {
      queryId,
      sinceStart: all,
      lastHour: all,
      windows: [{ start: `2026-01-01T00:0${all.calls}:00.000Z`, figures: all }],
      versions: [
        { versionNumber: 10, figures: all },
        { versionNumber: all.calls, figures: all },
      ],
    },
  ],
  since: '2026-01-01T00:00:00.000Z',
  dropped: 2,
});

test('adds up what the executors answered, and names those that did not', () => {
  const { queries, executors, missing } = mergeStatistics(
    new Map([
      ['executor-1', answerOf('q', figures(3, 7, 'CANCELLED'))],
      ['executor-2', undefined],
      ['executor-3', answerOf('q', figures(4, 9, 'SOURCE_BUSY'))],
      ['executor-4', answerOf('other', figures(1, 1, 'SOURCE_BUSY'))],
    ]),
  );
  expect(missing).toEqual(['executor-2']);
  expect(executors.map(({ name, dropped }) => [name, dropped])).toEqual([
    ['executor-1', 2],
    ['executor-3', 2],
    ['executor-4', 2],
  ]);
  expect(queries.map(({ queryId }) => queryId)).toEqual(['q', 'other']);
  expect(queries[0]?.lastHour).toEqual({
    calls: 7,
    consoleCalls: 4,
    cacheHits: 2,
    rows: 70,
    bytes: 700,
    errors: [
      { code: 'CANCELLED', calls: 1 },
      { code: 'SOURCE_BUSY', calls: 1 },
    ],
    queue: { buckets: [0], counts: [7] },
    database: { buckets: [7, 9], counts: [3, 4] },
    total: { buckets: [0, 7, 9], counts: [2, 3, 4] },
  });
  const { windows, versions } = queries[0] ?? {};
  expect(windows?.map(({ start, figures }) => [start.slice(11, 16), figures?.calls])).toEqual([
    ['00:03', 3],
    ['00:04', 4],
  ]);
  expect(versions?.map(({ versionNumber, figures }) => [versionNumber, figures?.calls])).toEqual([
    [3, 3],
    [4, 4],
    [10, 7],
  ]);
});

test('adds up answers that have only what ranks the queries', () => {
  const part = (bucket: number): ReadStatisticsResponse => ({
    ...answerOf('q', figures(1, 1, '')),
    queries: [
      {
        queryId: 'q',
        lastHour: { ...sumFigures([]), calls: 1, total: { buckets: [bucket], counts: [1] } },
        windows: [],
        versions: [],
      },
    ],
  });
  const { queries } = mergeStatistics(
    new Map([
      ['executor-1', part(4)],
      ['executor-2', part(2)],
    ]),
  );
  expect(queries).toEqual([
    {
      queryId: 'q',
      lastHour: { ...sumFigures([]), calls: 2, total: { buckets: [2, 4], counts: [1, 1] } },
      windows: [],
      versions: [],
    },
  ]);
});
