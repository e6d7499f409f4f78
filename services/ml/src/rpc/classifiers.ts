/** The RPCs of classifiers. */

import type { Quota } from '@datahub/document-store/quota';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import { requireVersion } from '@datahub/service-kit/call/expected-version';
import { type CreateId, operationIdOf } from '@datahub/service-kit/id';
import type { ClassifierCache } from '../classifiers/classifier-cache.ts';
import type { ClassifierLog } from '../classifiers/classifier-log.ts';
import { topDefault } from '../classifiers/predict-bounds.ts';
import type { ClassifierDoc } from '../documents.ts';
import type { TextBudget } from '../scheduling/text-budget.ts';
import type { TimeSlices } from '../scheduling/time-slices.ts';
import type { MlStore } from '../store.ts';
import { toClassifier, toEvaluation } from './to-proto.ts';
import { checkExamples, checkName, checkTexts, checkTop } from './validate.ts';

type ClassifierCall = DocumentCall | 'train' | 'predict' | 'deleteClass' | 'getEvaluation';
export type ClassifierCalls = Pick<Calls<typeof MlServiceService>, ClassifierCall>;

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

const listMax = 10_000;
/** A call with one text of up to this length takes about a millisecond. */
const shortCharactersMax = 2_000;

export function createClassifierCalls(deps: ClassifierCallDeps): ClassifierCalls {
  return { ...createDocumentCalls(deps), ...createModelCalls(deps) };
}

type DocumentCall = 'createClassifier' | 'listClassifiers' | 'getClassifier' | 'deleteClassifier';

function createDocumentCalls(deps: ClassifierCallDeps): Pick<ClassifierCalls, DocumentCall> {
  const { store, cache, quota } = deps;
  return {
    createClassifier: async ({ name }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const createdAt = deps.nowMs();
      const sameId = operationIdOf({ namespace: deps.namespace, kind: 'clfr' }, ctx.operation);
      const id = sameId ?? deps.createId('clfr', createdAt);
      const doc = { id, accountId, version: 1, name: checkName(name), createdAt };
      await quota.requireRoom(store.classifiers, accountId, 'classifiers');
      await store.classifiers.insert(doc).catch((err) => {
        // The same operation has created it before.
        if (sameId === undefined || !(err instanceof HubError) || err.code !== 'CONFLICT') throw err;
      });
      return { classifier: toClassifier(doc, { updatedAt: null, classes: [], version: 1 }) };
    },

    listClassifiers: async ({ offset, limit }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const bounded = Math.min(limit ?? listMax, listMax);
      const [docs, total] = await Promise.all([
        bounded === 0 ? [] : store.classifiers.find({ accountId, offset, limit: bounded }),
        store.classifiers.count({ accountId }),
      ]);
      const updates = await lastEventsAt(store, docs);
      const classifiers = docs.map((doc, i) =>
        toClassifier(doc, { updatedAt: updates[i] ?? null, classes: [] }),
      );
      return { classifiers, total };
    },

    getClassifier: async ({ classifierId }, ctx) => {
      const principal = requirePrincipal(ctx);
      const doc = await load(store, principal, classifierId);
      const log = cache.get(principal.accountId, classifierId);
      const state = await log.read(({ updatedAt, classes, version }) => ({
        updatedAt,
        version,
        classes: [...classes.values()].map((one) => ({ ...one })),
      }));
      return { classifier: toClassifier(doc, state) };
    },

    deleteClassifier: async ({ classifierId, ...expected }, ctx) => {
      const principal = requirePrincipal(ctx);
      const { accountId } = principal;
      if ((await store.classifiers.get(accountId, classifierId)) === null) {
        // An earlier deletion may have failed before it had deleted the whole log.
        await deleteLog(store, accountId, classifierId);
        throw noSuchClassifier();
      }
      const log = cache.get(accountId, classifierId);
      if (expected.expectedVersion !== undefined) await log.read((state) => requireVersion(state, expected));
      await store.classifiers.delete(accountId, classifierId);
      cache.delete(classifierId);
      await deleteLog(store, accountId, classifierId).catch((err) => {
        throw outcomeUnknown(err);
      });
      return {};
    },
  };
}

function createModelCalls(deps: ClassifierCallDeps): Omit<ClassifierCalls, DocumentCall> {
  const { store } = deps;
  const schedule = createScheduler(deps);
  return {
    train: async ({ classifierId, examples, eventId }, ctx) => {
      const principal = requirePrincipal(ctx);
      const checked = checkExamples(examples);
      const log = await openLog(deps, principal, classifierId);
      const { accountId } = principal;
      const texts = checked.map(({ text }) => text);
      const results = await schedule(accountId, texts, () =>
        log.train(checked, eventId === '' ? undefined : eventId),
      );
      await requireKept(store, accountId, classifierId);
      const classes = results.map((result, i) => ({ ...result, label: checked[i]?.label ?? '' }));
      return { classes };
    },

    predict: async ({ classifierId, contexts, top = topDefault }, ctx) => {
      const principal = requirePrincipal(ctx);
      checkTexts(contexts);
      checkTop(top);
      const predict = async () => {
        const log = await openLog(deps, principal, classifierId);
        return { predictions: await log.predict(contexts, { top, signal: ctx.signal }) };
      };
      return schedule(principal.accountId, contexts, predict);
    },

    deleteClass: async ({ classifierId, classId, ...expected }, ctx) => {
      const log = await openLog(deps, requirePrincipal(ctx), classifierId);
      await log.deleteClass(classId, expected);
      return {};
    },

    getEvaluation: async ({ classifierId }, ctx) => {
      const log = await openLog(deps, requirePrincipal(ctx), classifierId);
      return log.read(toEvaluation);
    },
  };
}

async function load(store: MlStore, { accountId }: Principal, classifierId: string): Promise<ClassifierDoc> {
  const doc = await store.classifiers.get(accountId, classifierId);
  if (doc === null) throw noSuchClassifier();
  return doc;
}

const noSuchClassifier = () => new HubError('NOT_FOUND', 'There is no such classifier.');

/** Call this after training: if the classifier was deleted meanwhile, examples may follow the deletion in its log. */
export async function requireKept(store: MlStore, accountId: string, classifierId: string): Promise<void> {
  const still = await store.classifiers.get(accountId, classifierId).catch((err) => {
    // The examples have been learnt.
    throw outcomeUnknown(err);
  });
  if (still !== null) return;
  await deleteLog(store, accountId, classifierId);
  throw noSuchClassifier();
}

async function openLog(
  { store, cache }: ClassifierCallDeps,
  principal: Principal,
  classifierId: string,
): Promise<ClassifierLog> {
  await load(store, principal, classifierId);
  return cache.get(principal.accountId, classifierId);
}

/** Long calls pause while short ones run. The texts of long calls count against the budget. */
function createScheduler({ slices, budget }: ClassifierCallDeps) {
  return <T>(accountId: string, texts: readonly string[], call: () => Promise<T>): Promise<T> => {
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    if (texts.length === 1 && characters <= shortCharactersMax) return slices.short(call);
    return budget.run(accountId, characters, call);
  };
}

const deletedPerCall = 500;

/** Deletes the log and the snapshot of a deleted classifier. */
async function deleteLog(store: MlStore, accountId: string, classifierId: string): Promise<void> {
  const filter = { accountId, idPrefix: `${classifierId}/`, limit: deletedPerCall };
  while ((await store.events.deleteMany(filter)) > 0);
  await store.snapshots.delete(accountId, classifierId);
}

const readsAtOnce = 20;

/** The time of the last event of each, without reading texts. Works in portions, so a long list doesn't block the event loop. */
async function lastEventsAt(store: MlStore, docs: ClassifierDoc[]): Promise<(number | null)[]> {
  const found: (number | null)[] = [];
  for (let at = 0; at < docs.length; at += readsAtOnce) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve));
    const part = docs.slice(at, at + readsAtOnce);
    found.push(...(await Promise.all(part.map((doc) => lastEventAt(store, doc)))));
  }
  return found;
}

async function lastEventAt(store: MlStore, { accountId, id }: ClassifierDoc): Promise<number | null> {
  const page = { accountId, idPrefix: `${id}/`, descending: true, limit: 1 };
  const [last] = await store.events.findSummaries(page);
  return typeof last?.at === 'number' ? last.at : null;
}
