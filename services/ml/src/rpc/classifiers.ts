/** Classifiers over their logs. */

import { randomBytes } from 'node:crypto';
import type { Quota } from '@datahub/document-store/quota';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { type Fault, HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import { requireVersion } from '@datahub/service-kit/call/expected-version';
import { type CreateId, operationIdOf } from '@datahub/service-kit/id';
import type { Replicas } from '../classifiers/classifier-cache.ts';
import type { Replica } from '../classifiers/classifier-log.ts';
import { topDefault, topMax } from '../classifiers/predict-bounds.ts';
import type { TextBudget } from '../classifiers/text-budget.ts';
import type { TrainExample } from '../classifiers/train-batch.ts';
import type { ClassifierDoc } from '../documents.ts';
import type { Slices } from '../scheduling/slices.ts';
import type { MlStore } from '../store.ts';
import { toClassifier } from './to-proto.ts';

export type ClassifierCalls = Omit<Calls<typeof MlServiceService>, 'summarize'>;

export interface ClassifierDeps {
  store: MlStore;
  replicas: Replicas;
  quota: Quota;
  slices: Slices;
  budget: TextBudget;
  createId: CreateId;
  namespace: string;
  nowMs: () => number;
}

const listMax = 10_000;
const batchMax = 10_000;
const labelCharactersMax = 200;
/** Of one text; what comes after it would not be read. */
const textCharactersMax = 4_194_304;
/** A call with one text up to this length takes about a millisecond. */
const shortCharactersMax = 2_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/;

export function createClassifierCalls(deps: ClassifierDeps): ClassifierCalls {
  const { store, replicas, quota, slices, budget } = deps;

  const load = async ({ accountId }: Principal, classifierId: string): Promise<ClassifierDoc> => {
    const doc = await store.classifiers.get(accountId, classifierId);
    if (doc === null) throw new HubError('NOT_FOUND', 'There is no such classifier.');
    return doc;
  };
  const replicaOf = async (principal: Principal, classifierId: string): Promise<Replica> => {
    await load(principal, classifierId);
    return replicas.of(principal.accountId, classifierId);
  };

  /** Short calls go before long ones; the texts of all are counted. */
  const admit = <T>(
    { accountId }: Principal,
    texts: readonly string[],
    call: () => Promise<T>,
  ): Promise<T> => {
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    if (texts.length === 1 && characters <= shortCharactersMax) return slices.short(call);
    return budget.hold(accountId, characters, call);
  };

  return {
    createClassifier: async ({ name }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const createdAt = deps.nowMs();
      const sameId = operationIdOf({ namespace: deps.namespace, kind: 'clfr' }, ctx.operation);
      const id = sameId ?? deps.createId('clfr', createdAt);
      const doc = { id, accountId, version: 1, name: checkName(name), createdAt };
      await quota.requireRoom(store.classifiers, accountId, 'classifiers');
      await store.classifiers.insert(doc).catch((err) => {
        // The same operation has made it before.
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
      const doc = await load(principal, classifierId);
      const replica = replicas.of(principal.accountId, classifierId);
      const state = await replica.read(({ updatedAt, classes, version }) => ({
        updatedAt,
        version,
        classes: [...classes.values()].map((one) => ({ ...one })),
      }));
      return { classifier: toClassifier(doc, state) };
    },

    deleteClassifier: async ({ classifierId, ...expected }, ctx) => {
      const principal = requirePrincipal(ctx);
      const replica = await replicaOf(principal, classifierId);
      if (expected.expectedVersion !== undefined)
        await replica.read((state) => requireVersion(state, expected));
      await store.classifiers.delete(principal.accountId, classifierId);
      replicas.drop(classifierId);
      // The classifier is gone; of its log something may be left.
      await sweepLog(store, principal.accountId, classifierId).catch((err) => {
        throw outcomeUnknown(err);
      });
      return {};
    },

    train: async ({ classifierId, examples, eventId }, ctx) => {
      const principal = requirePrincipal(ctx);
      const checked = checkExamples(examples);
      const replica = await replicaOf(principal, classifierId);
      const results = await admit(
        principal,
        checked.map(({ text }) => text),
        () => replica.train(checked, eventId === '' ? undefined : eventId),
      );
      // Deleted while it was trained: nothing may stay behind of it.
      const still = await store.classifiers.get(principal.accountId, classifierId).catch((err) => {
        // It has been learnt by now.
        throw outcomeUnknown(err);
      });
      if (still === null) {
        await sweepLog(store, principal.accountId, classifierId);
        throw new HubError('NOT_FOUND', 'There is no such classifier.');
      }
      const classes = results.map((result, i) => ({ ...result, label: checked[i]?.label ?? '' }));
      return { classes };
    },

    predict: async ({ classifierId, contexts, top = topDefault }, ctx) => {
      const principal = requirePrincipal(ctx);
      checkTexts(contexts);
      checkTop(top);
      const predict = async () => {
        const replica = await replicaOf(principal, classifierId);
        return { predictions: await replica.predict(contexts, { top, signal: ctx.signal }) };
      };
      return admit(principal, contexts, predict);
    },

    deleteClass: async ({ classifierId, classId, ...expected }, ctx) => {
      const replica = await replicaOf(requirePrincipal(ctx), classifierId);
      await replica.deleteClass(classId, expected);
      return {};
    },

    getEvaluation: async ({ classifierId }, ctx) => {
      const replica = await replicaOf(requirePrincipal(ctx), classifierId);
      return replica.read(({ evaluation }) => ({
        examples: evaluation.state.examples,
        accuracy: evaluation.accuracy,
        calibrationError: evaluation.calibrationError,
      }));
    },
  };
}

const deletedAtOnce = 500;

/** Removes the log and the snapshot of a classifier that is gone. */
export async function sweepLog(store: MlStore, accountId: string, classifierId: string): Promise<void> {
  const filter = { accountId, idPrefix: `${classifierId}/`, limit: deletedAtOnce };
  while ((await store.events.deleteMany(filter)) > 0);
  await store.snapshots.delete(accountId, classifierId);
}

const lookedUpAtOnce = 20;

/** When each was last trained, without the texts; some at a time, so that a long list leaves the event loop to others. */
async function lastEventsAt(store: MlStore, docs: ClassifierDoc[]): Promise<(number | null)[]> {
  const found: (number | null)[] = [];
  for (let at = 0; at < docs.length; at += lookedUpAtOnce) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve));
    const part = docs.slice(at, at + lookedUpAtOnce);
    found.push(...(await Promise.all(part.map((doc) => lastEventAt(store, doc)))));
  }
  return found;
}

async function lastEventAt(store: MlStore, { accountId, id }: ClassifierDoc): Promise<number | null> {
  const page = { accountId, idPrefix: `${id}/`, descending: true, limit: 1 };
  const [last] = await store.events.findSummaries(page);
  return typeof last?.at === 'number' ? last.at : null;
}

function checkName(text: string): string {
  const name = text.trim();
  if (name === '') return `classifier-${randomBytes(3).toString('hex')}`;
  const faults = faultsOfLabel('/name', name);
  if (faults.length > 0) throw invalid(faults);
  return name;
}

/** Labels are trimmed like every name; texts are taken as they are. */
function checkExamples(examples: { label: string; context: string }[]): TrainExample[] {
  const faults: Fault[] = [];
  const single = examples.length === 1;
  if (examples.length < 1 || examples.length > batchMax) {
    throw invalid([{ pointer: '/examples', detail: `must have 1 to ${batchMax} entries` }]);
  }
  const checked = examples.map(({ label, context }, i) => {
    const at = single ? '' : `/examples/${i}`;
    const trimmed = label.trim();
    faults.push(...faultsOfLabel(`${at}/label`, trimmed), ...faultsOfText(`${at}/context`, context));
    return { label: trimmed, text: context };
  });
  if (faults.length > 0) throw invalid(faults);
  return checked;
}

function checkTop(top: number): void {
  if (top >= 1 && top <= topMax) return;
  throw invalid([{ pointer: '/options/top', detail: `must be 1 to ${topMax}` }]);
}

function checkTexts(texts: string[]): void {
  if (texts.length < 1 || texts.length > batchMax) {
    throw invalid([{ pointer: '/contexts', detail: `must have 1 to ${batchMax} entries` }]);
  }
  const faults = texts.flatMap((text, i) =>
    faultsOfText(texts.length === 1 ? '/context' : `/contexts/${i}`, text),
  );
  if (faults.length > 0) throw invalid(faults);
}

function faultsOfLabel(pointer: string, label: string): Fault[] {
  const length = [...label].length;
  if (length < 1 || length > labelCharactersMax) {
    return [{ pointer, detail: `must have 1 to ${labelCharactersMax} characters` }];
  }
  if (controlCharacters.test(label) || !label.isWellFormed()) {
    return [{ pointer, detail: 'must be valid Unicode without control characters' }];
  }
  return [];
}

function faultsOfText(pointer: string, text: string): Fault[] {
  if (text.length > textCharactersMax)
    return [{ pointer, detail: `must have at most ${textCharactersMax} characters` }];
  return text.isWellFormed() ? [] : [{ pointer, detail: 'must be valid Unicode' }];
}

const faultsMax = 50;

function invalid(faults: Fault[]): HubError {
  const [first] = faults;
  return new HubError('VALIDATION', `${first?.pointer} ${first?.detail}.`, {
    errors: faults.slice(0, faultsMax),
  });
}
