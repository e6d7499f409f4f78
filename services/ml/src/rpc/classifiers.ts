/** The RPCs of classifiers. */

import { randomUUID } from 'node:crypto';
import { pageItemsMax } from '@datahub/contract/limits';
import { orAborted } from '@datahub/service-kit/call/abort';
import { requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import { requireVersion } from '@datahub/service-kit/call/expected-version';
import { operationIdOf } from '@datahub/service-kit/id';
import { turnFor } from '@datahub/service-kit/yield-to-loop';
import type { Predicted, Prediction } from '../classifiers/classifier-state.ts';
import { topDefault } from '../classifiers/predict-bounds.ts';
import type { ClassifierDoc } from '../documents.ts';
import { cancelled } from '../scheduling/time-slices.ts';
import type { MlStore } from '../store.ts';
import {
  type ClassifierCallDeps,
  createScheduler,
  type MlCalls,
  ofLog,
  open,
  openToTrain,
  requireMayManage,
  unknownClassifier,
  versionOf,
} from './classifier-access.ts';
import { createExampleCalls } from './examples.ts';
import { toClassifier, toEvaluation } from './to-proto.ts';
import { checkExamples, checkName, checkTexts, checkTop, randomName } from './validate.ts';

/** Why a caller no longer waits for work that goes on. */
const toLeft = (reason: unknown): HubError => (reason instanceof HubError ? reason : cancelled({ reason }));

const renameAttemptsMax = 10;

export function createClassifierCalls(deps: ClassifierCallDeps) {
  return { ...createDocumentCalls(deps), ...createModelCalls(deps), ...createExampleCalls(deps) };
}

function createCreate(deps: ClassifierCallDeps): MlCalls['createClassifier'] {
  const { store, quota } = deps;
  return async ({ name }, ctx) => {
    requireMayManage(ctx);
    const { accountId } = requirePrincipal(ctx);
    const createdAt = deps.nowMs();
    const sameId = operationIdOf({ namespace: deps.namespace, kind: 'clfr' }, ctx.operation);
    const id = sameId ?? deps.createId('clfr', createdAt);
    const doc = { id, accountId, version: 1, name: checkName(name.trim() || randomName()), createdAt };
    using _room = await quota.requireRoom(store.classifiers, doc, 'classifiers');
    const made = await store.classifiers.insert(doc).then(
      () => doc,
      (err) => {
        if (sameId === undefined || !(err instanceof HubError) || err.code !== 'CONFLICT') throw err;
        // An earlier attempt of the same operation has created the classifier.
        return store.classifiers.get(accountId, sameId);
      },
    );
    return { classifier: toClassifier(made ?? doc, { updatedAt: null, classes: [], version: 1 }) };
  };
}

function createDocumentCalls(deps: ClassifierCallDeps) {
  const { store, cache } = deps;
  return {
    createClassifier: createCreate(deps),

    listClassifiers: async ({ offset, limit, name }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const bounded = Math.min(limit ?? pageItemsMax, pageItemsMax);
      const listed = { accountId, ...(name === undefined ? {} : { where: { name } }) };
      const [docs, total] = await Promise.all([
        bounded === 0 ? [] : store.classifiers.find({ ...listed, offset, limit: bounded }),
        store.classifiers.count(listed),
      ]);
      const updates = await lastEventsAt(store, docs);
      const classifiers = docs.map((doc, i) =>
        toClassifier(doc, { updatedAt: updates[i] ?? null, classes: [] }),
      );
      return { classifiers, total };
    },

    getClassifier: async ({ classifierId }, ctx) => {
      const { doc, log } = await open(deps, ctx, classifierId);
      await turnFor(await log.read(({ classes }) => classes.size));
      const read = log.read((state) => ({
        updatedAt: state.updatedAt,
        version: versionOf(doc, state),
        classes: [...state.classes.values()].map((one) => ({ ...one })),
      }));
      const state = await orAborted(read, ctx.signal, toLeft);
      return { classifier: toClassifier(doc, state) };
    },

    updateClassifier: createRename(deps),

    deleteClassifier: async ({ classifierId, ...expected }, ctx) => {
      requireMayManage(ctx);
      const { accountId } = requirePrincipal(ctx);
      const opened = await open(deps, ctx, classifierId).catch(async (err) => {
        // An earlier deletion may have failed before it deleted the whole log.
        if (err instanceof HubError && err.code === 'NOT_FOUND')
          await deleteLog(store, accountId, classifierId);
        throw err;
      });
      const { doc, log } = opened;
      if (expected.expectedVersion !== undefined)
        await log.read((state) => requireVersion({ version: versionOf(doc, state) }, expected));
      await store.classifiers.delete(accountId, classifierId);
      cache.delete(classifierId);
      await deleteLog(store, accountId, classifierId).catch((err) => {
        throw outcomeUnknown(err);
      });
      return {};
    },
  } satisfies Partial<MlCalls>;
}

/** Tries several times, because another call can rename the classifier between the read and the write. */
function createRename(deps: ClassifierCallDeps): MlCalls['updateClassifier'] {
  return async ({ classifierId, name, ...expected }, ctx) => {
    requireMayManage(ctx);
    const checked = checkName(name);
    for (let attempt = 0; attempt < renameAttemptsMax; attempt++) {
      const { doc, log } = await open(deps, ctx, classifierId);
      const version = await log.read((state) => versionOf(doc, state));
      requireVersion({ version }, expected);
      if (doc.name === checked) return { version };
      const renamed = { ...doc, version: doc.version + 1, name: checked };
      if (await deps.store.classifiers.replace(renamed)) return { version: version + 1 };
    }
    throw new HubError('UNAVAILABLE', 'Too many calls rename this classifier at the same time. Try again.', {
      retryable: true,
    });
  };
}

function createModelCalls(deps: ClassifierCallDeps) {
  const { store } = deps;
  const schedule = createScheduler(deps);
  const predictAs = createPredict(deps, (prediction) => prediction);
  return {
    train: async ({ classifierId, examples, eventId }, ctx) => {
      const principal = requirePrincipal(ctx);
      const checked = await checkExamples(examples);
      const { log } = await openToTrain(deps, ctx, classifierId);
      const { accountId } = principal;
      const texts = checked.map(({ text }) => text);
      const id = eventId === '' ? randomUUID() : eventId;
      const learn = async () => {
        const learnt = await schedule(accountId, texts, () => log.train(checked, id));
        await requireKept(store, accountId, classifierId);
        return learnt;
      };
      // Examples that are stored are learnt, because they are part of the log. Repeating the call settles it.
      const results = await orAborted(learn(), ctx.signal, (reason) => {
        const left = toLeft(reason);
        return log.withdraw(id, left) ? left : outcomeUnknown(left);
      });
      const classes = results.map((result, i) => ({ ...result, label: checked[i]?.label ?? '' }));
      return { classes };
    },

    predict: predictAs,

    deleteClass: async ({ classifierId, classId, ...expected }, ctx) => {
      requireMayManage(ctx);
      const { doc, log } = await open(deps, ctx, classifierId);
      await orAborted(log.deleteClass(classId, ofLog(expected, doc)), ctx.signal, (reason) =>
        outcomeUnknown(toLeft(reason)),
      );
      return {};
    },

    getEvaluation: async ({ classifierId }, ctx) => {
      const { log } = await open(deps, ctx, classifierId);
      return orAborted(log.read(toEvaluation), ctx.signal, toLeft);
    },
  } satisfies Partial<MlCalls>;
}

/** Resolves to what `convert` makes of each prediction, and to the number of classes. */
export function createPredict<T>(deps: ClassifierCallDeps, convert: (prediction: Prediction) => T) {
  const schedule = createScheduler(deps);
  return async (...[request, ctx]: Parameters<MlCalls['predict']>): Promise<Predicted<T>> => {
    const { classifierId, contexts, top = topDefault } = request;
    const { accountId } = requirePrincipal(ctx);
    checkTexts(contexts);
    checkTop(top);
    const predict = async () => {
      const { log } = await open(deps, ctx, classifierId);
      return log.predictAs(contexts, { top, signal: ctx.signal }, convert);
    };
    return orAborted(schedule(accountId, contexts, predict), ctx.signal, toLeft);
  };
}

/** Call this after training. If the classifier was deleted meanwhile, deletes the new examples and throws NOT_FOUND. */
export async function requireKept(store: MlStore, accountId: string, classifierId: string): Promise<void> {
  const still = await store.classifiers.get(accountId, classifierId).catch((err) => {
    // The examples have been learnt, so the caller must not repeat the call blindly.
    throw outcomeUnknown(err);
  });
  if (still !== null) return;
  await deleteLog(store, accountId, classifierId);
  throw unknownClassifier();
}

const deletedPerCall = 500;

/** Deletes the log and the snapshot of a deleted classifier. */
async function deleteLog(store: MlStore, accountId: string, classifierId: string): Promise<void> {
  const filter = { accountId, idPrefix: `${classifierId}/`, limit: deletedPerCall };
  while ((await store.events.deleteMany(filter)) > 0);
  await store.snapshots.delete(accountId, classifierId);
}

const readsAtOnce = 20;

/**
 * Returns the time of the last event of each classifier, without reading texts. Works in portions to not block the
 * event loop.
 */
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
