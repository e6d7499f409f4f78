/** The RPCs of jobs, which train classifiers from the rows of queries. */

import type { Complete } from '@datahub/contract/complete';
import type { EndedJob, Job, RowCounts } from '@datahub/proto/ml/v1/ml';
import { type CallContext, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { type CreateId, operationIdOf } from '@datahub/service-kit/id';
import type { ClassifierCache } from '../classifiers/classifier-cache.ts';
import type { EndedJobDoc, JobCounts, JobDoc } from '../documents.ts';
import type { JobList, JobView } from '../jobs/job-list.ts';
import { keyLimits } from '../jobs/key-limits.ts';
import type { TextBudget } from '../scheduling/text-budget.ts';
import type { MlStore } from '../store.ts';
import { type MlCalls, requireMayTrain } from './classifier-access.ts';
import { requireKept } from './classifiers.ts';
import { checkExamples } from './validate.ts';

export interface JobCallDeps {
  store: MlStore;
  jobs: JobList;
  cache: ClassifierCache;
  budget: TextBudget;
  createId: CreateId;
  namespace: string;
  leaseMs: number;
  nowMs: () => number;
}

const noCounts: JobCounts = { rows: 0, nullIds: 0, invalid: 0, faults: [], truncated: false };
const faultsMax = 50;
const idCharactersMax = 512;
const page = { limitDefault: 50, limitMax: 200 };

export function createJobCalls(deps: JobCallDeps) {
  const { store, jobs } = deps;
  return {
    startJob: async ({ classifierId, queryId, contextJson, columns }, ctx) => {
      const { accountId, keyId } = requirePrincipal(ctx);
      requireMayTrain(ctx, classifierId);
      await requireClassifier(store, accountId, classifierId);
      const createdAt = deps.nowMs();
      const sameId = operationIdOf({ namespace: deps.namespace, kind: 'job' }, ctx.operation);
      const id = sameId ?? deps.createId('job', createdAt);
      // An earlier attempt of the same operation has started the job.
      if (sameId !== undefined && (await store.jobs.get(accountId, id)) !== null) return { jobId: id };
      await jobs.add({
        id,
        accountId,
        version: 1,
        classifierId,
        queryId,
        keyId,
        contextJson,
        columns: columns ?? { text: '', label: '', id: '' },
        state: 'queued',
        counts: noCounts,
        trained: 0,
        corrected: 0,
        error: null,
        createdAt,
        startedAt: null,
        endedAt: null,
        lease: null,
        expiresAt: null,
      });
      return { jobId: id };
    },

    getJob: async ({ jobId }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const job = await jobs.get(viewOf(ctx), jobId);
      const isKept = (await store.classifiers.get(accountId, job.classifierId)) !== null;
      if (!isKept) return { job: toJob(job) };
      // A batch can be learnt after the job was deleted, so the counts come from the classifier.
      const learnt = await deps.cache
        .get(accountId, job.classifierId)
        .read((state) => state.jobCounts(jobId));
      const trained = Math.max(job.trained, learnt.trained);
      return { job: toJob({ ...job, trained, corrected: Math.max(job.corrected, learnt.corrected) }) };
    },

    listJobs: async ({ offset, limit = page.limitDefault }, ctx) => {
      const bounded = Math.min(limit, page.limitMax);
      const { found, total } = await jobs.list(viewOf(ctx), { offset, limit: bounded });
      return { jobs: found.map(toJob), total };
    },

    deleteJob: async ({ jobId }, ctx) => {
      await jobs.delete(viewOf(ctx), jobId);
      return {};
    },

    ...createRunCalls(deps),
  } satisfies Partial<MlCalls>;
}

const toEnded = ({ id: jobId, code: errorCode, ...rest }: EndedJobDoc): Complete<EndedJob> => {
  const { accountId, classifierId, queryId, state, trained } = rest;
  return { accountId, jobId, classifierId, queryId, state, errorCode, trained };
};

/** The jobs that the caller may see: those of its account, or only its own if its key is limited. */
function viewOf(ctx: CallContext): JobView {
  const { accountId, keyId, limits } = requirePrincipal(ctx);
  const isLimited = Object.values(keyLimits).some((limit) => limit.isSet(limits));
  return isLimited ? { accountId, keyId } : { accountId };
}

/** The calls of the gateway that runs a job. */
function createRunCalls({ store, jobs, cache, budget, nowMs, leaseMs }: JobCallDeps) {
  return {
    takeJob: async ({ told }) => {
      for (const job of told) await jobs.forgetEnded(job);
      const ended = (await jobs.listEnded()).map(toEnded);
      const job = await jobs.take();
      if (job === undefined) return { job: undefined, ended };
      const { id: jobId, accountId, keyId, queryId, contextJson, columns, lease } = job;
      const taken = { jobId, accountId, keyId, queryId, contextJson, columns, turns: job.turns ?? 0 };
      return { job: { ...taken, lease: lease?.token ?? '', leaseMs }, ended };
    },

    trainRows: async ({ jobId, lease, rows, counts }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const { classifierId, queryId } = await jobs.leased({ accountId, jobId, lease });
      requireMayTrain(ctx, classifierId);
      await requireClassifier(store, accountId, classifierId);
      const log = cache.get(accountId, classifierId);
      if (rows.length > 0) {
        const examples = await checkExamples(rows.map(({ label, text }) => ({ label, context: text })));
        if (rows.some(({ id }) => id === '' || id.length > idCharactersMax))
          throw new HubError('VALIDATION', `An id must have 1 to ${idCharactersMax} characters.`);
        const identified = examples.map((example, i) => ({ ...example, id: rows[i]?.id ?? '' }));
        const characters = examples.reduce((sum, { text }) => sum + text.length, 0);
        await budget.run(accountId, characters, () => log.train(identified, undefined, { jobId, queryId }));
        await requireKept(store, accountId, classifierId);
      }
      const { trained, corrected } = await log.read((state) => state.jobCounts(jobId));
      await jobs.change({ accountId, jobId, lease }, { ...toCounts(counts), trained, corrected });
      return { trained, corrected };
    },

    endJob: async ({ jobId, lease, state, errorCode, errorDetail = '', counts }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const held = { accountId, jobId, lease };
      if (state === '') await jobs.release(held);
      else {
        await jobs.change(held, {
          ...toCounts(counts),
          state: state === 'done' ? 'done' : 'failed',
          error: errorCode === undefined ? null : { code: errorCode, detail: errorDetail },
          endedAt: nowMs(),
          lease: null,
        });
      }
      return {};
    },
  } satisfies Partial<MlCalls>;
}

async function requireClassifier(store: MlStore, accountId: string, classifierId: string): Promise<void> {
  if ((await store.classifiers.get(accountId, classifierId)) !== null) return;
  throw new HubError('NOT_FOUND', 'There is no such classifier.');
}

const toCounts = (counts: RowCounts | undefined): { counts?: JobCounts } =>
  counts === undefined ? {} : { counts: { ...counts, faults: counts.faults.slice(0, faultsMax) } };

const toDate = (ms: number | null) => (ms === null ? undefined : new Date(ms));

function toJob(job: JobDoc): Job {
  const { id: jobId, classifierId, queryId, state, counts, trained, corrected, error } = job;
  return {
    ...{ jobId, classifierId, queryId, state, counts, trained, corrected },
    errorCode: error?.code,
    errorDetail: error?.detail,
    createdAt: toDate(job.createdAt),
    startedAt: toDate(job.startedAt),
    endedAt: toDate(job.endedAt),
  };
}
