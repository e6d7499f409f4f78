/** Composes the ml service: store, classifier cache, summarizer. */

import { randomUUID } from 'node:crypto';
import { answerBackup, isBackupRequest } from '@datahub/document-store/backup-request';
import { createQuota } from '@datahub/document-store/quota';
import type { MlServiceService } from '@datahub/proto/ml/v1/ml';
import type { Calls } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createIdFactory } from '@datahub/service-kit/id';
import { openOperatorSocket } from '@datahub/service-kit/process/operator-socket';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import { createClassifierCache } from './classifiers/classifier-cache.ts';
import { createLearners } from './classifiers/model/online-learner.ts';
import type { MlConfig } from './config.ts';
import { JobList } from './jobs/job-list.ts';
import { createClassifierCalls } from './rpc/classifiers.ts';
import { createEncodedPredict } from './rpc/encoded-predictions.ts';
import { createJobCalls } from './rpc/jobs.ts';
import { createSummaryCalls } from './rpc/summaries.ts';
import { createFairLock, createFairPlaces } from './scheduling/fair-lock.ts';
import { createTextBudget } from './scheduling/text-budget.ts';
import { createTimeSlices } from './scheduling/time-slices.ts';
import { openMlStore } from './store.ts';
import { createExtractiveSummarizer } from './summaries/extractive/worker-pool.ts';
import { createLlmSummarizer } from './summaries/llm-summarizer.ts';
import type { Summarizer } from './summaries/summarizer.ts';

export interface MlService {
  calls: Calls<typeof MlServiceService>;
  /** The same for callers over gRPC: handlers may encode their responses. */
  grpcHandlers: object;
  health(): Promise<void>;
  close(): Promise<void>;
}

const sweepEveryMs = 30_000;
/** How many classifiers learn their logs again at a time. */
const rebuilds = { allMax: 3, accountMax: 1 };
/** Pages of 4 KiB that a sweep returns to the disk. */
const freedMax = 500;

export async function openMl(config: MlConfig, { logger }: { logger: Logger }): Promise<MlService> {
  const store = await openMlStore(config.storeUrl, randomUUID);
  const createId = createIdFactory({ namespace: config.namespace });
  const slices = createTimeSlices();
  const budget = createTextBudget();
  const cache = createClassifierCache(
    {
      slices,
      snapshotLock: createFairLock(),
      rebuildPlaces: createFairPlaces(rebuilds),
      store,
      learners: createLearners(),
      createClassId: () => createId('clfc', Date.now()),
      nowMs: Date.now,
      onFailure: (err) =>
        logger.warn({ event: 'classifier.failed', err }, 'background work on a classifier failed'),
    },
    {
      countMax: config.classifiersCachedMax,
      bytesMax: config.classifiersCachedBytesMax,
      idleMs: config.classifierIdleMs,
    },
  );
  const quota = createQuota(config.accountQuota);
  const { namespace, jobLeaseMs: leaseMs } = config;
  const jobs = new JobList(store, { leaseMs, nowMs: Date.now });
  const summarizer = createSummarizer(config, logger);
  const operator =
    config.operatorSocket === undefined
      ? undefined
      : await openOperatorSocket({
          path: config.operatorSocket,
          handle: async (request, call) => {
            if (isBackupRequest(request)) return answerBackup(store, request, { ...call, logger });
            throw new HubError('NOT_FOUND', 'The ml service only accepts the backup command.');
          },
          logger,
        });
  const sweeping = setInterval(() => {
    cache.sweep();
    jobs
      .sweep()
      .then(() => store.shrink(freedMax))
      .catch((err) => logger.warn({ event: 'jobs.unswept', err }, 'expired jobs could not be deleted'));
  }, sweepEveryMs);
  sweeping.unref();
  const nowMs = Date.now;
  const classifierDeps = { store, cache, quota, slices, budget, createId, namespace, nowMs };
  const calls = {
    ...createClassifierCalls(classifierDeps),
    ...createJobCalls({ store, jobs, cache, budget, createId, namespace, leaseMs, nowMs }),
    ...createSummaryCalls(summarizer, budget),
  };
  return {
    calls,
    grpcHandlers: { ...calls, predict: createEncodedPredict(classifierDeps) },
    health: () => store.health(),
    close: async () => {
      clearInterval(sweeping);
      await summarizer.close();
      await operator?.close();
      await store.close();
    },
  };
}

function createSummarizer(config: MlConfig, logger: Logger): Summarizer {
  const extractive = createExtractiveSummarizer({
    threads: config.summaryThreads,
    timeoutMs: config.summaryTimeoutMs,
  });
  if (config.generator === undefined) return extractive;
  return createLlmSummarizer({
    ...config.generator,
    fallback: extractive,
    onFallback: (err) =>
      logger.warn(
        { event: 'generator.failed', err },
        'the language model failed, so the extractive summary was returned',
      ),
  });
}
