import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { HubError } from '@datahub/service-kit/call/error';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type DriftWatch, startDriftWatch } from '../../src/execution/drift-watch.ts';

/** The fake timers do not replace those of promises. */
const sleep = (ms?: number, _value?: unknown, { signal }: { signal?: AbortSignal | undefined } = {}) =>
  new Promise<unknown>((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

const intervalMs = 100_000;
const used = { sourceId: 's', accountId: 'a' };

describe('the drift watch', () => {
  let watch: DriftWatch;
  let checked: [at: number, queryId: string][];
  let sources: (typeof used)[];
  let sealed: (typeof used & { engine: string })[];
  let taken: object[];
  let isTaken: boolean;
  let takenAt: number;
  let rejected: Set<string>;
  let failures: unknown[];
  const queryIds = ['q0', 'q1', 'q2'];

  beforeEach(() => {
    vi.useFakeTimers({
      now: 0,
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'],
    });
    vi.spyOn(timers, 'setTimeout').mockImplementation(sleep);
    syncBuiltinESMExports();
    [checked, sources, taken, isTaken] = [[], [used], [], true];
    [rejected, failures] = [new Set(), []];
    takenAt = 1;
    sealed = [
      { ...used, engine: 'postgres' },
      { sourceId: 'idle', accountId: 'a', engine: 'mysql' },
      { sourceId: 'm', accountId: 'a', engine: 'mongodb' },
    ];
    watch = startDriftWatch({
      intervalMs,
      catalog: {
        takeSourceCheck: async (request, ctx) => {
          taken.push({ ...request, accountId: ctx.principal?.accountId });
          return { taken: isTaken, queryIds, takenAt };
        },
        listSealed: async ({ afterSourceId }) => {
          const last = sealed.findIndex(
            ({ accountId, sourceId }) => `${accountId}/${sourceId}` === afterSourceId,
          );
          // As pages of large sources: shorter than the limit.
          return { sources: sealed.slice(last + 1, last + 3) as never };
        },
      },
      usedSince: () => sources,
      check: async (queryId) => {
        checked.push([Date.now(), queryId]);
        if (queryId === 'q9') throw new HubError('NOT_FOUND', 'gone');
        return !rejected.has(queryId);
      },
      now: Date.now,
      onFailure: (err) => failures.push(err),
    });
  });
  afterEach(async () => {
    await watch.close();
    vi.useRealTimers();
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });

  it('describes the queries of a used source once per interval, evenly spread', async () => {
    await vi.advanceTimersByTimeAsync(99_000);
    expect(checked).toEqual([
      [15_000, 'q0'],
      [45_000, 'q1'],
      [75_000, 'q2'],
    ]);
    expect(taken).toEqual([{ sourceId: 's', everyMs: 90_000, accountId: 'a' }]);
    sources = [];
    await vi.advanceTimersByTimeAsync(99_000);
    expect(taken.slice(1)).not.toContainEqual(taken[0]);
  });

  it('leaves a source to the executor that took it', async () => {
    isTaken = false;
    await vi.advanceTimersByTimeAsync(99_000);
    expect(checked).toEqual([]);
  });

  it('describes the queries of other sources once a day, and none of MongoDB', async () => {
    sources = [];
    await vi.advanceTimersByTimeAsync(110_000);
    expect(taken).toEqual([
      { sourceId: 's', everyMs: 86_400_000, accountId: 'a' },
      { sourceId: 'idle', everyMs: 86_400_000, accountId: 'a' },
    ]);
  });

  it('counts the queries that are broken now', async () => {
    rejected = new Set(['q0', 'q2']);
    await vi.advanceTimersByTimeAsync(99_000);
    expect(watch.broken).toBe(2);
    rejected.clear();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(watch.broken).toBe(0);
    expect(failures).toEqual([]);
  });

  it('counts what its last round of a source found, until another executor takes one', async () => {
    sources = [];
    rejected = new Set(['q0', 'q2']);
    await vi.advanceTimersByTimeAsync(110_000);
    expect(watch.broken).toBe(4);
    isTaken = false;
    await vi.advanceTimersByTimeAsync(intervalMs);
    expect(watch.broken).toBe(4);
    watch.checked('s', 1, takenAt);
    expect(watch.broken).toBe(3);
    takenAt = 2;
    await vi.advanceTimersByTimeAsync(intervalMs);
    expect(watch.broken).toBe(0);
  });

  it('forgets the broken queries of deleted sources, and of no others', async () => {
    rejected = new Set(['q0', 'q2']);
    await vi.advanceTimersByTimeAsync(199_000);
    expect(watch.broken).toBe(4);
    sources = [];
    sealed = sealed.filter(({ sourceId }) => sourceId !== used.sourceId);
    await vi.advanceTimersByTimeAsync(2 * intervalMs);
    expect(watch.broken).toBe(2);
    sealed = [];
    await vi.advanceTimersByTimeAsync(2 * intervalMs);
    expect(watch.broken).toBe(0);
  });
});
