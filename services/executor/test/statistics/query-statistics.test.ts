import { percentile } from '@datahub/executor-session/duration-buckets';
import { StatisticsRanking_Figure as Figure } from '@datahub/proto/executor/v1/executor';
import { describe, expect, it } from 'vitest';
import {
  QueryStatistics,
  type RankingFigure,
  type Sample,
  versionsMax,
  windowCount,
  windowMs,
} from '../../src/statistics/query-statistics.ts';
import { noLimits } from '../fakes/pipeline.ts';

const sample: Sample = {
  calls: 1,
  cacheHits: 0,
  failedWith: undefined,
  rows: 2,
  bytes: 30,
  queueMs: 0.1,
  databaseMs: 5,
  totalMs: 6,
};
const query = (queryId: string, accountId = 'a', hubId = 'h', versionNumber = 1) => ({
  queryId,
  accountId,
  hubId,
  versionNumber,
});
const principal = (limits: object = {}, accountId = 'a') => ({
  accountId,
  keyId: 'k',
  scopes: ['*'],
  limits: { ...noLimits, ...limits },
});

function setup(queriesMax = 10) {
  /** `asleep`: how long `now` stood still. */
  const clock = { now: 0, asleep: 0 };
  const startedAtMs = Date.parse('2026-01-01T00:00:00Z');
  const statistics = new QueryStatistics({
    queriesMax,
    now: () => clock.now,
    nowMs: () => startedAtMs + clock.now + clock.asleep,
  });
  const read = async (queryId?: string, as = principal()) =>
    statistics.read({ queryIds: queryId === undefined ? [] : [queryId] }, as);
  const lastHour = async () => (await read('q')).queries[0]?.lastHour?.calls;
  return { clock, statistics, read, lastHour };
}

describe('statistics of queries', () => {
  it('add up calls, rows, bytes, errors, cache hits and durations', async () => {
    const { statistics, read } = setup();
    statistics.add(query('q'), sample);
    statistics.add(query('q'), { ...sample, databaseMs: 50, totalMs: 60 });
    statistics.add(query('q'), {
      ...sample,
      failedWith: 'CONTEXT_INVALID',
      queueMs: undefined,
      databaseMs: undefined,
      totalMs: undefined,
    });
    statistics.add(query('q'), { ...sample, cacheHits: 1, queueMs: undefined, databaseMs: undefined });
    const { sinceStart, lastHour } = (await read('q')).queries[0] ?? {};
    expect(lastHour).toEqual(sinceStart);
    expect(sinceStart).toMatchObject({ calls: 4, cacheHits: 1, rows: 8, bytes: 120 });
    expect(sinceStart?.errors).toEqual([{ code: 'CONTEXT_INVALID', calls: 1 }]);
    const { queue, database, total } = sinceStart ?? {};
    expect([queue, database, total].map((all) => all?.counts.reduce((sum, one) => sum + one))).toEqual([
      2, 2, 3,
    ]);
    expect(percentile(database ?? { buckets: [], counts: [] }, 0.99)).toBeCloseTo(50, -1);
  });

  it('of the last hour leave with their window, and those since the start stay', async () => {
    const { clock, statistics, read, lastHour } = setup();
    for (let window = 0; window < windowCount; window++) {
      clock.now = window * windowMs + 1;
      statistics.add(query('q'), sample);
    }
    const seen: unknown[] = [];
    for (let window = windowCount - 1; window <= 2 * windowCount; window++) {
      clock.now = window * windowMs + 2;
      seen.push(await lastHour());
    }
    expect(seen).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0]);
    statistics.add(query('q'), sample);
    expect(await lastHour()).toBe(1);
    expect((await read('q')).queries[0]?.sinceStart?.calls).toBe(13);
  });

  it('never contain less than 55 minutes, or more than an hour', async () => {
    const { clock, statistics, lastHour } = setup();
    clock.now = windowMs - 1;
    statistics.add(query('q'), sample);
    clock.now += 11 * windowMs;
    expect(await lastHour()).toBe(1);
    clock.now += 1;
    expect(await lastHour()).toBe(0);
    clock.now = 20 * windowMs;
    statistics.add(query('q'), sample);
    clock.now += 12 * windowMs - 1;
    expect(await lastHour()).toBe(1);
    clock.now += 1;
    expect(await lastHour()).toBe(0);
  });

  it('have the windows of the last hour, which begin at the same moments on all executors', async () => {
    const { clock, statistics, read } = setup();
    clock.now = 90_000;
    statistics.add(query('q'), { ...sample, failedWith: 'SOURCE_BUSY' });
    clock.now = 2 * windowMs;
    statistics.add(query('q'), sample);
    statistics.add(query('q'), sample);
    const seen = async () =>
      (await read('q')).queries[0]?.windows.map(({ start, figures }) => [
        start.slice(0, 16),
        figures?.calls,
        figures?.errors.length,
      ]);
    const windows = await seen();
    expect(windows).toHaveLength(windowCount);
    expect(windows?.slice(-4)).toEqual([
      ['2025-12-31T23:55', 0, 0],
      ['2026-01-01T00:00', 1, 1],
      ['2026-01-01T00:05', 0, 0],
      ['2026-01-01T00:10', 2, 0],
    ]);
    clock.now += windowCount * windowMs;
    expect((await seen())?.every(([, calls]) => calls === 0)).toBe(true);
    const late = new QueryStatistics({
      queriesMax: 1,
      now: () => 7_000,
      nowMs: () => Date.parse('2026-01-01T00:12:34Z'),
    });
    late.add(query('q'), sample);
    const { queries } = await late.read({ queryIds: ['q'] }, principal());
    expect(queries[0]?.windows.at(-1)?.start).toBe('2026-01-01T00:10:00.000Z');
  });

  it('are counted by version, for the latest versions only', async () => {
    const { statistics, read } = setup();
    const call = (versionNumber: number) => statistics.add(query('q', 'a', 'h', versionNumber), sample);
    const versions = async () =>
      (await read('q')).queries[0]?.versions.map(({ versionNumber, figures }) => [
        versionNumber,
        figures?.calls,
      ]);
    call(3);
    call(3);
    expect(await versions()).toEqual([[3, 2]]);
    call(4);
    // A call that began before the change ends after it.
    call(3);
    expect(await versions()).toEqual([
      [3, 3],
      [4, 1],
    ]);
    for (let version = 5; version <= 3 + versionsMax; version++) call(version);
    expect((await versions())?.map(([version]) => version)).toEqual([4, 5, 6, 7, 8]);
    expect((await read('q')).queries[0]?.sinceStart?.calls).toBe(3 + versionsMax);
    expect((await read()).queries[0]).toMatchObject({ windows: [], versions: [] });
  });

  it('are of a bounded number of queries: those not called for the longest leave, and the answer says so', async () => {
    const { clock, statistics, read } = setup(2);
    const { since } = await read();
    statistics.add(query('q1'), sample);
    clock.now += windowMs;
    statistics.add(query('q2'), sample);
    statistics.add(query('q1'), sample);
    expect(await read('q1')).toMatchObject({ since, dropped: 0 });
    clock.now += 1_000;
    statistics.add(query('q3'), sample);
    expect((await read()).queries.map(({ queryId }) => queryId)).toEqual(['q1', 'q3']);
    expect((await read()).dropped).toBe(1);
    // It was counted all the time.
    expect((await read('q1')).since).toBe(since);
    expect((await read('q2')).queries).toEqual([]);
    expect(Date.parse((await read('q3')).since) - Date.parse(since)).toBe(windowMs + 1_000);
  });

  it('are only what ranks the queries, if that is asked for', async () => {
    const { statistics, clock } = setup();
    statistics.add(query('q'), { ...sample, failedWith: 'SOURCE_BUSY' });
    clock.now = windowCount * windowMs;
    statistics.add(query('q'), sample);
    const noParts = { windows: [], versions: [] };
    const nothing = { consoleCalls: 0, cacheHits: 0, rows: 0, bytes: 0, errors: [] };
    const ranked = async (figure: RankingFigure, lastHour: boolean) =>
      (await statistics.read({ queryIds: [], ranking: { figure, lastHour } }, principal())).queries;
    const errors = [{ code: 'SOURCE_BUSY', calls: 1 }];
    expect(await ranked(Figure.FIGURE_ERRORS, false)).toEqual([
      { queryId: 'q', ...noParts, sinceStart: { ...nothing, calls: 2, errors } },
    ]);
    expect(await ranked(Figure.FIGURE_ROWS, true)).toEqual([
      { queryId: 'q', ...noParts, lastHour: { ...nothing, calls: 1, rows: 2 } },
    ]);
    expect(await ranked(Figure.FIGURE_TOTAL, true)).toEqual([
      {
        queryId: 'q',
        ...noParts,
        lastHour: { ...nothing, calls: 1, total: { buckets: [expect.any(Number)], counts: [1] } },
      },
    ]);
  });

  it('are those of queries that the key may use', async () => {
    const { statistics, read } = setup();
    statistics.add(query('q1'), sample);
    statistics.add(query('q2', 'a', 'other'), sample);
    statistics.add(query('q3', 'b'), sample);
    const readable = async (limits: object) =>
      (await read(undefined, principal(limits))).queries.map(({ queryId }) => queryId);
    expect(await readable({})).toEqual(['q1', 'q2']);
    expect(await readable({ hubIds: ['other'] })).toEqual(['q2']);
    expect(await readable({ queryIds: ['q1', 'q3'] })).toEqual(['q1']);
    expect((await read('q3')).queries).toEqual([]);
    expect((await read('q1', principal({}, 'b'))).queries).toEqual([]);
  });

  it('leave with the query or its hub', async () => {
    const { statistics, read } = setup();
    for (const one of [query('q1'), query('q2', 'a', 'deleted'), query('q3')]) statistics.add(one, sample);
    statistics.remove(['q1', 'deleted', 'a source']);
    expect((await read()).queries.map(({ queryId }) => queryId)).toEqual(['q3']);
  });

  it('count calls that failed before their query was known, if the account has called it before', async () => {
    const { statistics, read } = setup();
    statistics.addToKnown('q', 'a', sample);
    expect((await read()).queries).toEqual([]);
    statistics.add(query('q'), sample);
    statistics.addToKnown('q', 'a', sample);
    statistics.addToKnown('q', 'b', sample);
    statistics.addToKnown('q', undefined, sample);
    expect((await read()).queries[0]?.sinceStart?.calls).toBe(2);
  });

  it('name the hours of the clock after the machine has slept, and drop those of before', async () => {
    const { clock, statistics, read, lastHour } = setup();
    for (let i = 0; i < 3; i++) statistics.add(query('q'), sample);
    clock.asleep = 59_000;
    expect(await lastHour()).toBe(3);
    clock.asleep = 8 * 3_600_000;
    expect(await lastHour()).toBe(0);
    statistics.add(query('q'), sample);
    const [found] = (await read('q')).queries;
    expect(found?.windows.at(-1)).toMatchObject({ start: '2026-01-01T08:00:00.000Z', figures: { calls: 1 } });
    expect([found?.lastHour?.calls, found?.sinceStart?.calls]).toEqual([1, 4]);
  });
});
