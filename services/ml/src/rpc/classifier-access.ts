/**
 * The functions that the calls of a classifier share: open its document and log, compute its version, schedule its
 * work.
 */

import { mayManageClassifiers, mayTrain } from '@datahub/contract/withheld';
import type { Quota } from '@datahub/document-store/quota';
import type { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { type CallContext, type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Expected } from '@datahub/service-kit/call/expected-version';
import type { CreateId } from '@datahub/service-kit/id';
import type { ClassifierCache } from '../classifiers/classifier-cache.ts';
import type { ClassifierLog } from '../classifiers/classifier-log.ts';
import type { ClassifierDoc } from '../documents.ts';
import type { TextBudget } from '../scheduling/text-budget.ts';
import type { TimeSlices } from '../scheduling/time-slices.ts';
import type { MlStore } from '../store.ts';

export type MlCalls = Calls<typeof MlServiceService>;

export interface ClassifierCallDeps {
  store: MlStore;
  cache: ClassifierCache;
  quota: Quota;
  slices: TimeSlices;
  budget: TextBudget;
  createId: CreateId;
  namespace: string;
  nowMs: () => number;
}

/** A call with one text of up to this length takes about a millisecond. */
const shortCharactersMax = 2_000;

/** Throws NOT_FOUND if the account has no such classifier. */
export async function open(
  { store, cache }: Pick<ClassifierCallDeps, 'store' | 'cache'>,
  ctx: CallContext,
  classifierId: string,
): Promise<{ accountId: string; doc: ClassifierDoc; log: ClassifierLog }> {
  const { accountId } = requirePrincipal(ctx);
  const doc = await store.classifiers.get(accountId, classifierId);
  if (doc === null) throw unknownClassifier();
  return { accountId, doc, log: cache.get(accountId, classifierId) };
}

/** The same for a call that trains a classifier, or reads or changes its examples. Throws SCOPE_DENIED. */
export function openToTrain(
  deps: Pick<ClassifierCallDeps, 'store' | 'cache'>,
  ctx: CallContext,
  classifierId: string,
): ReturnType<typeof open> {
  requireMayTrain(ctx, classifierId);
  return open(deps, ctx, classifierId);
}

export const requireMayTrain = (ctx: CallContext, classifierId: string): void => {
  if (mayTrain(requirePrincipal(ctx).limits ?? {}, classifierId)) return;
  throw new HubError(
    'SCOPE_DENIED',
    'This key may not train this classifier or use its examples, because it is limited to hubs, queries or other classifiers. List the classifier in limits.classifierIds of the key.',
  );
};

/** Throws SCOPE_DENIED for a key that may not create, rename or delete classifiers, or delete classes. */
export function requireMayManage(ctx: CallContext): void {
  if (mayManageClassifiers(requirePrincipal(ctx).limits ?? {})) return;
  throw new HubError(
    'SCOPE_DENIED',
    'This key may not create, rename or delete classifiers or their classes, because it is limited to hubs, queries or some classifiers.',
  );
}

export const unknownClassifier = () => new HubError('NOT_FOUND', 'There is no such classifier.');

/** The version of a classifier counts its events and its renames. Every process computes the same version. */
export const versionOf = (doc: ClassifierDoc, log: { version: number }): number =>
  log.version + doc.version - 1;

/** Converts expected versions of a classifier to those of its log. */
export function ofLog({ expectedVersion, moreVersions }: Expected, doc: ClassifierDoc): Expected {
  const renames = doc.version - 1;
  if (expectedVersion === undefined) return {};
  return {
    expectedVersion: expectedVersion - renames,
    moreVersions: moreVersions?.map((version) => version - renames),
  };
}

/** Long calls pause while short ones run. The texts of long calls count against the budget. */
export function createScheduler({ slices, budget }: Pick<ClassifierCallDeps, 'slices' | 'budget'>) {
  return <T>(accountId: string, texts: readonly string[], call: () => Promise<T>): Promise<T> => {
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    if (texts.length === 1 && characters <= shortCharactersMax) return slices.short(call);
    return budget.run(accountId, characters, call);
  };
}
