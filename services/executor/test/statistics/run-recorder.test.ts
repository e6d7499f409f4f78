import { recordedPerMinute } from '@datahub/contract/query-runs';
import type { RecordedRun } from '@datahub/proto/catalog/v1/catalog_internal';
import { CallForm, type ExecuteRequest } from '@datahub/proto/executor/v1/executor';
import { HubError } from '@datahub/service-kit/call/error';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Execution } from '../../src/execution/execution-state.ts';
import type { Sample } from '../../src/statistics/query-statistics.ts';
import { createRunRecorder, type RunRecorder } from '../../src/statistics/run-recorder.ts';

const sample: Sample = {
  calls: 1,
  cacheHits: 0,
  failedWith: undefined,
  rows: 2,
  bytes: 9,
  queueMs: 1,
  databaseMs: 2,
  totalMs: 3,
};

function executionOf(request: Partial<ExecuteRequest> = {}, queryId = 'q'): Execution {
  const user = { issuer: 'https://id.example', subject: 'ann', claimsJson: '{"secret":1}' };
  return {
    request: { queryId, contextJson: '{"password":"s3cret"}', ...request },
    query: { queryId, accountId: 'a', versionNumber: 7 },
    ctx: { principal: { accountId: 'a', keyId: 'k', scopes: [], user } },
  } as unknown as Execution;
}

describe('the recorder of runs', () => {
  let now = 0;
  let sent: RecordedRun[] = [];
  let failures: unknown[] = [];
  let refuse: HubError | undefined;
  /** The catalog refuses a batch with a run of this query. */
  let wrong: string | undefined;
  let recorder: RunRecorder;

  const open = ({ everyMs = 3_600_000 } = {}) => {
    [now, sent, failures, refuse, wrong] = [0, [], [], undefined, undefined];
    recorder = createRunRecorder({
      catalog: {
        recordRuns: async ({ runs }) => {
          if (refuse !== undefined) throw refuse;
          if (runs.some(({ queryId }) => queryId === wrong)) throw new HubError('VALIDATION', 'wrong');
          sent.push(...runs);
          return {};
        },
      },
      nowMs: () => now,
      onFailure: (err) => failures.push(err),
      everyMs,
    });
  };
  afterEach(() => recorder.close());

  it('sends who ran what and how it ended, and no value', async () => {
    open();
    now = 1_000;
    recorder.note(executionOf(), sample);
    recorder.note(executionOf({ fromConsole: true }), { ...sample, failedWith: 'CANCELLED' });
    await recorder.close();
    const [first, second] = sent;
    expect(first).toMatchObject({
      accountId: 'a',
      queryId: 'q',
      issuer: 'https://id.example',
      run: { at: new Date(1_000), keyId: 'k', user: 'ann', version: 7, form: 'execute', rows: 2, totalMs: 3 },
    });
    expect(second?.run).toMatchObject({ form: 'console', code: 'CANCELLED' });
    expect(first?.seed).not.toEqual(second?.seed);
    expect(JSON.stringify(sent)).not.toMatch(/s3cret|secret/);
  });

  it('marks a dry run', async () => {
    open();
    const options = { dryRun: true, meta: false, numbersAsStrings: false };
    for (const request of [{}, { options }]) recorder.note(executionOf(request), sample);
    await recorder.close();
    expect(sent.map(({ run }) => run?.dryRun)).toEqual([false, true]);
  });

  it.each([
    ['data', { form: { values: [], checkOnly: false } }],
    ['rows', { load: { columns: [] } }],
    ['tool', { callForm: CallForm.CALL_FORM_TOOL }],
    ['watch', { callForm: CallForm.CALL_FORM_WATCH }],
    ['job', { callForm: CallForm.CALL_FORM_JOB }],
    ['transaction', { callForm: CallForm.CALL_FORM_TRANSACTION }],
  ])('names the form %s', async (form, request) => {
    open();
    recorder.note(executionOf(request), sample);
    await recorder.close();
    expect(sent.map(({ run }) => run?.form)).toEqual([form]);
  });

  it('sends each run within the time, and again what could not be sent', async () => {
    vi.useFakeTimers();
    try {
      open({ everyMs: 1_000 });
      refuse = new HubError('UNAVAILABLE', 'away');
      recorder.note(executionOf(), sample);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(sent).toHaveLength(0);
      refuse = undefined;
      await vi.advanceTimersByTimeAsync(1_000);
      expect(sent).toHaveLength(1);
    } finally {
      vi.useRealTimers();
    }
  });

  it('does not record drafts', async () => {
    open();
    recorder.note(executionOf({ queryId: '' }), sample);
    await recorder.close();
    expect(sent).toEqual([]);
  });

  it('takes the first runs of a query in each minute, and failed ones apart', async () => {
    open();
    for (let i = 0; i < 2 * recordedPerMinute; i++) {
      recorder.note(executionOf(), sample);
      recorder.note(executionOf(), { ...sample, failedWith: 'STATEMENT_TIMEOUT' });
    }
    recorder.note(executionOf({}, 'other'), sample);
    now = 60_000;
    recorder.note(executionOf(), sample);
    await recorder.close();
    const failed = sent.filter(({ run }) => run?.code !== undefined);
    expect(failed).toHaveLength(recordedPerMinute);
    expect(sent).toHaveLength(2 * recordedPerMinute + 2);
  });

  it('loses of a batch only what the catalog refuses', async () => {
    open();
    wrong = 'q3';
    for (let i = 0; i < 20; i++) recorder.note(executionOf({}, `q${i}`), sample);
    await recorder.close();
    const others = Array.from({ length: 20 }, (_, i) => `q${i}`).filter((id) => id !== wrong);
    expect(sent.map(({ queryId }) => queryId)).toEqual(others);
    expect(failures).toHaveLength(1);
  });

  it('keeps what the catalog could not take, drops what it refuses, and has a bound', async () => {
    open();
    refuse = new HubError('UNAVAILABLE', 'away');
    for (let minute = 0; minute < 150; minute++) {
      now = minute * 60_000;
      for (let i = 0; i < recordedPerMinute; i++) recorder.note(executionOf(), sample);
    }
    await recorder.close();
    expect(failures).toEqual([]);
    refuse = undefined;
    await recorder.close();
    expect(sent).toHaveLength(10_000);
    refuse = new HubError('INTERNAL', 'wrong');
    now += 60_000;
    recorder.note(executionOf(), sample);
    await recorder.close();
    expect(failures).toEqual([refuse]);
    refuse = undefined;
    await recorder.close();
    expect(sent).toHaveLength(10_000);
  });
});
