/** What the calls of classifiers need, around the dependencies of their logs. */

import { createQuota } from '@datahub/document-store/quota';
import { createIdFactory } from '@datahub/service-kit/id';
import { createClassifierCache } from '../../src/classifiers/classifier-cache.ts';
import type { ClassifierDeps } from '../../src/classifiers/classifier-deps.ts';
import type { ClassifierCallDeps } from '../../src/rpc/classifier-access.ts';
import { createTextBudget } from '../../src/scheduling/text-budget.ts';

export const callDeps = (log: ClassifierDeps): ClassifierCallDeps => ({
  ...log,
  createId: createIdFactory({ namespace: 'test' }),
  namespace: 'test',
  cache: createClassifierCache(log, { countMax: 10, bytesMax: 1e8, idleMs: 60_000 }),
  quota: createQuota(100),
  budget: createTextBudget(),
});
