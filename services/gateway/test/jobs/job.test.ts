import type { Principal } from '@datahub/proto/common/v1/principal';
import type { EndJobRequest, Row, TakenJob } from '@datahub/proto/ml/v1/ml';
import { type CallContext, CallStop } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { afterEach, expect, it, vi } from 'vitest';
import { type JobDeps, runJob } from '../../src/jobs/job.ts';
import { digestsOfRow, LearntRows, learntRowsMax } from '../../src/jobs/learnt-rows.ts';

const principal: Principal = {
  accountId: 'a',
  keyId: 'k',
  scopes: ['classifiers:train', 'queries:execute'],
  limits: undefined,
};
const job: TakenJob = {
  jobId: 'j',
  accountId: 'a',
  keyId: 'k',
  queryId: 'q',
  contextJson: '{}',
  columns: { id: 'id', label: 'label', text: 'text' },
  lease: 'l',
  leaseMs: 60_000,
  turns: 0,
};
const timedOut = new HubError('STATEMENT_TIMEOUT', 'The statement took longer than allowed.');

type RowOf = (n: number) => object;
const example: RowOf = (n) => ({ id: n, label: `l${n % 3}`, text: `text ${n}` });

interface Given {
  rows: number;
  rowsOfRun: number;
  rowOf?: RowOf;
  failure?: HubError;
}

/** Each run of the query answers as many rows more than the one before as `rowsOfRun` says, and then times out. */
async function run({ rows, rowsOfRun, rowOf = example, failure = timedOut }: Given) {
  const lines = Array.from({ length: rows }, (_, n) => Buffer.from(`${JSON.stringify(rowOf(n))}\n`));
  const trained: Row[] = [];
  const ended: Partial<EndJobRequest>[] = [];
  let runs = 0;
  const upstreams = {
    catalog: { resolveKey: async () => ({ principal }) },
    executor: {
      execute: async (_: unknown, __: unknown, reply: { chunk(bytes: Buffer): boolean }) => {
        runs++;
        for (const line of lines.slice(0, runs * rowsOfRun)) reply.chunk(line);
        if (runs * rowsOfRun < rows) throw failure;
      },
    },
    ml: {
      trainRows: async ({ rows }: { rows: Row[] }) => {
        trained.push(...rows);
        return { trained: trained.length, corrected: 0 };
      },
      endJob: async (end: Partial<EndJobRequest>) => {
        ended.push(end);
        return {};
      },
    },
  } as unknown as JobDeps['upstreams'];
  const learnt = new LearntRows({ rows: learntRowsMax });
  await runJob(job, { upstreams, release: new CallStop(), learnt, onFailure: () => {} });
  return { trained, ended, runs };
}

it('learns more rows than fit into the timeout of a statement, and sends each of them once', async () => {
  const { trained, ended, runs } = await run({ rows: 3_000, rowsOfRun: 300 });
  expect(runs).toBe(10);
  expect(trained.map(({ id }) => Number(id))).toEqual(Array.from({ length: 3_000 }, (_, n) => n));
  expect(ended).toMatchObject([{ state: 'done', counts: { rows: 3_000, invalid: 0 } }]);
});

it('fails if a statement times out before its first row', async () => {
  const { ended, runs } = await run({ rows: 10, rowsOfRun: 0 });
  expect(runs).toBe(1);
  expect(ended).toMatchObject([{ state: 'failed', errorCode: 'STATEMENT_TIMEOUT' }]);
});

it('ends although the text of a failure was cut in the middle of a character', async () => {
  const failure = new HubError('SQL_REJECTED', '\u{1f600}\u{1f600}'.slice(0, 3));
  const { ended } = await run({ rows: 1, rowsOfRun: 0, failure });
  expect(ended).toMatchObject([{ state: 'failed', errorDetail: '\u{1f600}\ufffd' }]);
});

afterEach(() => vi.useRealTimers());

it.each([
  ['NOT_FOUND', 'failed'],
  ['SOURCE_BUSY', 'done'],
] as const)('asks during its run whether the query is still there: %s', async (code, state) => {
  vi.useFakeTimers();
  const ended: Partial<EndJobRequest>[] = [];
  const upstreams = {
    catalog: { resolveKey: async () => ({ principal }) },
    executor: {
      execute: async (
        { checkOnly = false },
        { signal }: CallContext,
        reply: { chunk(bytes: Buffer): boolean },
      ) => {
        if (checkOnly) throw new HubError(code, '');
        reply.chunk(Buffer.from(`${JSON.stringify(example(1))}\n`));
        await Promise.race([
          new Promise((resolve) => setTimeout(resolve, 8_000)),
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        ]);
      },
    },
    ml: { trainRows: async () => ({}), endJob: async (end: object) => ended.push(end) },
  } as unknown as JobDeps['upstreams'];
  const learnt = new LearntRows({ rows: learntRowsMax });
  const running = runJob(job, { upstreams, release: new CallStop(), learnt, onFailure: () => {} });
  await vi.advanceTimersByTimeAsync(8_000);
  await running;
  expect(ended).toMatchObject([{ state, ...(state === 'failed' && { errorCode: code }) }]);
});

it('takes a member that only some documents lack for a fault of their rows', async () => {
  const odd = [
    { label: 'a', text: 'b' },
    { id: 1, label: 'a' },
    { id: 2, text: 'b', label: null },
  ];
  const rowOf: RowOf = (n) => odd[n] ?? example(n);
  const { ended } = await run({ rows: 4, rowsOfRun: 4, rowOf });
  const faults = ['id is missing', 'text is missing', 'label is null'];
  expect(ended).toMatchObject([
    {
      state: 'done',
      counts: { nullIds: 1, invalid: 2, faults: faults.map((detail, i) => ({ row: i + 1, detail })) },
    },
  ]);
  expect((await run({ rows: 3, rowsOfRun: 3, rowOf: () => ({ id: 1, label: 'a' }) })).ended).toMatchObject([
    { state: 'failed', errorCode: 'VALIDATION', errorDetail: 'No row has a column text.' },
  ]);
});

it('learns the last of the rows with one id, also if it is as the first, and the batches between end anywhere', async () => {
  const forms = ['a', 'b', 'a'];
  for (const gap of [1, 400, 700]) {
    const rowOf: RowOf = (n) => {
      const form = n % gap === 0 ? forms[n / gap] : undefined;
      return form === undefined ? example(n) : { id: 'same', label: form, text: 'the same' };
    };
    const { trained } = await run({ rows: 3 * gap, rowsOfRun: 3 * gap, rowOf });
    expect(trained.filter(({ id }) => id === 'same').map(({ label }) => label)).toEqual(forms);
  }
});

it('recognises rows by id, label and text', () => {
  const room = { rows: 2 };
  const learnt = new LearntRows(room);
  const row = { id: '1', label: 'a', text: 'b' };
  learnt.add(digestsOfRow(row));
  expect(learnt.has(digestsOfRow({ ...row }))).toBe(true);
  for (const other of [{ id: '2' }, { label: 'b' }, { text: 'a' }])
    expect(learnt.has(digestsOfRow({ ...row, ...other }))).toBe(false);
  for (const id of ['2', '3']) learnt.add(digestsOfRow({ ...row, id }));
  learnt.add(digestsOfRow({ ...row, label: 'b' }));
  expect(learnt.has(digestsOfRow(row))).toBe(false);
  expect(learnt.has(digestsOfRow({ ...row, label: 'b' }))).toBe(true);
  expect([learnt.size, room.rows]).toEqual([2, 0]);
  learnt.close();
  expect(room.rows).toBe(2);
});
