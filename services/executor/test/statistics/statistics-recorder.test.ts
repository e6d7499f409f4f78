import { describe, expect, it } from 'vitest';
import type { QueryDefinition } from '../../src/definitions/definition.ts';
import type { Sample } from '../../src/statistics/query-statistics.ts';
import { createStatisticsRecorder } from '../../src/statistics/statistics-recorder.ts';
import { createCachedPipeline, settle } from '../fakes/cached-pipeline.ts';
import { noLimits, source } from '../fakes/pipeline.ts';

const principal = { accountId: source.accountId, keyId: 'k', scopes: ['*'], limits: noLimits };

function setup(cache?: QueryDefinition['cache']) {
  const samples: Partial<Sample>[] = [];
  const add = (_query: unknown, sample: Sample) => {
    samples.push(sample);
  };
  const recorder = createStatisticsRecorder({ add, addToKnown: () => {} });
  const { executed, answered, ended } = recorder;
  const definition: QueryDefinition = {
    queryId: 'q',
    accountId: source.accountId,
    hubId: 'h',
    command: 'SELECT',
    text: 'SELECT :x',
    variables: [],
    notNull: [],
    version: 1,
    versionNumber: 1,
    characters: 1,
    cache,
    source,
  };
  const pipeline = createCachedPipeline({
    definitionOf: () => definition,
    valueNow: () => undefined,
    answerOf: () => 'answer',
    bytesMax: 1_000_000,
    events: { executed, answered, ended, failed: (run, { code }) => recorder.failed(run, code) },
  });
  const { clock, pending } = pipeline;
  const call = (more: object = {}) =>
    pipeline.call(principal, { queryId: 'q', contextJson: '{"x":1}', ...more });
  /** The statement waits 2 ms for a connection and takes 30 ms. */
  const run = async (how: 'finish' | 'fail' = 'finish') => {
    await settle();
    const [one] = [...pending];
    clock.now += 2;
    one?.begin();
    await settle();
    clock.now += 30;
    one?.[how]();
    await settle();
  };
  const sum = (name: 'calls' | 'consoleCalls' | 'cacheHits' | 'rows' | 'bytes') =>
    samples.reduce((total, sample) => total + (sample[name] ?? 0), 0);
  const times = (name: 'queueMs' | 'databaseMs' | 'totalMs') =>
    samples.map((sample) => sample[name]).filter((ms) => ms !== undefined);
  const totals = () => ({
    calls: sum('calls'),
    consoleCalls: sum('consoleCalls'),
    cacheHits: sum('cacheHits'),
    rows: sum('rows'),
    bytes: sum('bytes'),
    errors: samples.map(({ failedWith }) => failedWith).filter((code) => code !== undefined),
    queue: times('queueMs'),
    database: times('databaseMs'),
    total: times('totalMs'),
  });
  return { clock, pending, call, run, totals };
}

const cache = { maxAgeS: 60, staleS: 0, ageMsMax: 60_000, validate: undefined };
const nothing = {
  calls: 0,
  consoleCalls: 0,
  cacheHits: 0,
  rows: 0,
  bytes: 0,
  errors: [],
  queue: [],
  database: [],
  total: [],
};
const executed = { ...nothing, calls: 1, rows: 1, bytes: 6, queue: [2], database: [30], total: [32] };

describe('statistics', () => {
  it('count a call of the console apart, whether it succeeds or fails', async () => {
    for (const [setting, how] of [
      [undefined, 'finish'],
      [cache, 'finish'],
      [undefined, 'fail'],
    ] as const) {
      const { call, run, totals } = setup(setting);
      call({ fromConsole: true });
      await run(how);
      expect(totals()).toEqual({ ...nothing, consoleCalls: 1 });
    }
  });

  it('count an execution once, without a cache and with one', async () => {
    for (const setting of [undefined, cache]) {
      const { call, run, totals } = setup(setting);
      const made = call();
      await run();
      expect(made.err).toBeUndefined();
      expect(totals()).toEqual(executed);
    }
  });

  it('count a call that the cache answers without times of the queue and the database', async () => {
    const { call, run, totals } = setup(cache);
    call();
    await run();
    await call().settled;
    expect(totals()).toEqual({ ...executed, calls: 2, cacheHits: 1, rows: 2, bytes: 12, total: [32, 0] });
    await call({ cache: { bypass: false, etags: [], anyEtag: true } }).settled;
    expect(totals()).toMatchObject({ calls: 3, cacheHits: 2, rows: 2, bytes: 12 });
    await call({ form: { values: [{ name: 'x', value: '1' }], checkOnly: true } }).settled;
    expect(totals().calls).toBe(3);
  });

  it('count each of the calls that share an execution, and the execution once', async () => {
    const { call, run, totals } = setup(cache);
    call();
    call();
    await run();
    expect(totals()).toEqual({
      ...executed,
      calls: 2,
      cacheHits: 1,
      rows: 2,
      bytes: 12,
      total: [32, 32],
    });
  });

  it('count a refresh as an execution of no call', async () => {
    const { call, run, totals, clock } = setup({ ...cache, maxAgeS: 1, staleS: 59 });
    call();
    await run();
    clock.now += 5_000;
    await call().settled;
    await run();
    expect(totals()).toMatchObject({ calls: 2, cacheHits: 1, database: [30, 30], total: [32, 0] });
  });

  it('count a call around the cache once', async () => {
    const { call, run, totals } = setup(cache);
    call({ cache: { bypass: true, etags: [], anyEtag: false } });
    await run();
    expect(totals()).toEqual(executed);
  });

  it('count a failed statement with its times, for each of the calls that share it', async () => {
    const alone = setup();
    alone.call();
    await alone.run('fail');
    const failed = { ...executed, rows: 0, bytes: 0 };
    expect(alone.totals()).toEqual({ ...failed, errors: ['SQL_REJECTED'] });
    const shared = setup(cache);
    shared.call();
    shared.call();
    await shared.run('fail');
    const errors = ['SQL_REJECTED', 'SQL_REJECTED'];
    expect(shared.totals()).toEqual({ ...failed, calls: 2, errors, total: [32, 32] });
  });

  it('count the wait of a call that got no connection, and no times of one that was not run', async () => {
    const busy = setup();
    busy.call();
    await settle();
    busy.clock.now += 70;
    [...busy.pending][0]?.fail();
    await settle();
    expect(busy.totals()).toEqual({
      ...nothing,
      calls: 1,
      errors: ['SOURCE_BUSY'],
      queue: [70],
      total: [70],
    });
    const invalid = setup();
    await invalid.call({ contextJson: '{}' }).settled;
    expect(invalid.totals()).toEqual({ ...nothing, calls: 1, errors: ['CONTEXT_INVALID'] });
  });
});
