import type { EndedJob, TakeJobRequest, TakenJob } from '@datahub/proto/ml/v1/ml';
import { type CallContext, toAbortSignal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createLogger } from '@datahub/service-kit/telemetry/logger';
import { expect, it } from 'vitest';
import { createJobRunner, type JobRunnerDeps, jobsMax } from '../../src/jobs/job-runner.ts';

const takenJob = (n: number, turns = 0): TakenJob => ({
  jobId: `job ${n}`,
  accountId: `account ${n}`,
  keyId: 'k',
  queryId: `query ${n}`,
  contextJson: '{}',
  columns: { id: 'id', label: 'label', text: 'text' },
  lease: 'l',
  leaseMs: 60_000,
  turns,
});

/** The queries in `fast` have one row. The others wait until they are cancelled. */
interface Given {
  queued: TakenJob[];
  fast: string[];
  shareMs: number;
  /** Jobs whose end is not yet told. */
  ending?: EndedJob[];
}

function createRunner({ queued, fast, shareMs, ending = [] }: Given) {
  const ended: string[] = [];
  const told: string[] = [];
  const upstreams = {
    catalog: {
      tellJobEnded: async ({ jobId }: EndedJob) => {
        told.push(jobId);
        if (told.length === 1) throw new HubError('UNAVAILABLE', 'away');
        return {};
      },
      resolveKey: async () => ({
        principal: {
          accountId: 'a',
          keyId: 'k',
          scopes: ['classifiers:train', 'queries:execute'],
          limits: undefined,
        },
      }),
    },
    executor: {
      execute: async (
        { queryId }: { queryId: string },
        { signal }: CallContext,
        reply: { chunk(bytes: Buffer): boolean },
      ) => {
        if (fast.includes(queryId))
          reply.chunk(Buffer.from(`${JSON.stringify({ id: 1, label: 'a', text: 'b' })}\n`));
        else await new Promise((_, reject) => toAbortSignal(signal).addEventListener('abort', reject));
      },
    },
    ml: {
      takeJob: async ({ told }: TakeJobRequest) => {
        for (const { jobId } of told)
          ending.splice(
            ending.findIndex((one) => one.jobId === jobId),
            1,
          );
        return { job: queued.shift(), ended: [...ending] };
      },
      trainRows: async () => ({ trained: 1, corrected: 0 }),
      endJob: async ({ jobId, state }: { jobId: string; state: string }) => {
        ended.push(`${jobId} ${state || 'released'}`);
        return {};
      },
    },
  } as unknown as JobRunnerDeps['upstreams'];
  const logger = createLogger({ service: 'test', level: 'silent', pretty: false });
  return { runner: createJobRunner({ upstreams, logger, pollMs: 1, shareMs }), ended, told };
}

const slowJobs = Array.from({ length: jobsMax }, (_, n) => takenJob(n));

it('runs a job while the sources of others are slow', async () => {
  const queued = [...slowJobs.slice(1), takenJob(99)];
  const { runner, ended } = createRunner({ queued, fast: ['query 99'], shareMs: 3_600_000 });
  await expect.poll(() => ended).toEqual(['job 99 done']);
  await runner.close();
  expect(ended).toHaveLength(jobsMax);
});

it('gives the place of the job that has run longest, and has used its share, to a job that waits', async () => {
  const first = [takenJob(0, 6), ...slowJobs.slice(1)];
  const queued = [...first, takenJob(99)];
  // Only the share of the first job, which had turns before, has not ended.
  const { runner, ended } = createRunner({ queued, fast: ['query 99'], shareMs: 100 });
  await expect.poll(() => ended.toSorted()).toEqual(['job 1 released', 'job 99 done']);
  await runner.close();
});

it('tells the catalog that jobs ended, again if that failed, and then the ml service that it did', async () => {
  const more = { accountId: 'a', classifierId: 'c', queryId: 'q', state: 'done', trained: 1 };
  const ending: EndedJob[] = [{ jobId: 'one', ...more, errorCode: undefined }];
  const { runner, told } = createRunner({ queued: [], fast: [], shareMs: 1_000, ending });
  await expect.poll(() => ending).toEqual([]);
  await runner.close();
  expect(told).toEqual(['one', 'one']);
});
