/** Combines pending train calls into one event. */

import { HubError } from '@datahub/service-kit/call/error';
import type { EventDoc, RowSource, TrainCall } from '../documents.ts';
import type { ClassifierState } from './classifier-state.ts';
import { knownExamplesMax } from './known-examples.ts';
import { type CallResult, keyedCallsMax } from './recent-calls.ts';

export interface TrainExample {
  label: string;
  text: string;
  /** The id of the row, if the call is that of a job. */
  id?: string;
}

export interface PendingCall {
  eventId: string;
  examples: TrainExample[];
  job?: RowSource | undefined;
  resolve: (results: CallResult[]) => void;
  reject: (err: unknown) => void;
}

/** The most characters of one event. Further calls go into the next event. */
const eventCharactersMax = 4_000_000;
/** Every prediction scores all classes. The learner numbers them, and recently deleted ones, in 16 bits. */
export const classesMaxDefault = 10_000;

/** What an example takes besides its characters. Without it, an event could have millions of short examples. */
const charactersPerExample = 200;

function charactersOf({ examples }: Pick<PendingCall, 'examples'>): number {
  let characters = charactersPerExample * examples.length;
  for (const { text, label, id = '' } of examples) characters += text.length + label.length + id.length;
  return characters;
}

/** Removes and returns the calls from the front that fit into one event; at least one. */
export function takeBatch(pending: PendingCall[]): PendingCall[] {
  let characters = 0;
  let count = 0;
  for (const call of pending) {
    characters += charactersOf(call);
    if (count > 0 && characters > eventCharactersMax) break;
    count++;
  }
  return pending.splice(0, count);
}

/** Leaves out calls that were learnt. Rejects, with RATE_LIMITED, those whose repetition would not be known. */
export function withoutLearnt(
  calls: PendingCall[],
  state: Pick<ClassifierState, 'hasLearntCall' | 'hasRoomForCall'>,
  nowMs: number,
): PendingCall[] {
  return calls.filter(({ eventId, reject }) => {
    if (state.hasLearntCall(eventId)) return false;
    if (state.hasRoomForCall(eventId, nowMs)) return true;
    reject(tooManyKeyed());
    return false;
  });
}

const tooManyKeyed = () =>
  new HubError(
    'RATE_LIMITED',
    `The classifier was trained with ${keyedCallsMax} Idempotency-Keys in a day. Send more examples with each, or none.`,
    { retryable: true, retryAfterMs: 60_000 },
  );

/** Settles a call that was learnt, now or before. */
export function settle(
  { eventId, job, resolve, reject }: PendingCall,
  state: Pick<ClassifierState, 'resultOf'>,
) {
  const results = state.resultOf(eventId);
  if (results !== undefined || job !== undefined) resolve(results ?? []);
  else
    reject(new HubError('IDEMPOTENCY_CONFLICT', 'The examples were learnt. The answer is no longer stored.'));
}

/** Rejects, with QUOTA_EXCEEDED, each call whose new labels exceed the number of classes. Returns the others. */
export function rejectExcessLabels(
  calls: PendingCall[],
  state: Pick<ClassifierState, 'classes' | 'classIdOf'>,
  classesMax = classesMaxDefault,
): PendingCall[] {
  const fresh = new Set<string>();
  return calls.filter(({ examples, reject }) => {
    const added = new Set<string>();
    for (const { label } of examples) {
      if (!fresh.has(label) && state.classIdOf(label) === undefined) added.add(label);
    }
    if (added.size > 0 && state.classes.size + fresh.size + added.size > classesMax) {
      reject(tooManyClasses(classesMax));
      return false;
    }
    for (const label of added) fresh.add(label);
    return true;
  });
}

/**
 * Leaves out the rows that were learnt before, unless an earlier row of these calls has another form of them, and then the
 * calls without rows. Rejects, with QUOTA_EXCEEDED, each call that would exceed the number of rows per classifier.
 */
export function withoutKnownRows(
  calls: PendingCall[],
  state: Pick<ClassifierState, 'classIdOf' | 'hasLearnt' | 'rowCount'>,
): PendingCall[] {
  const changed = new Set<string>();
  return calls.flatMap((call) => {
    const { job, reject } = call;
    if (job === undefined) return [call];
    const { queryId } = job;
    const examples = call.examples.filter(({ label, text, id = '' }) => {
      const row = JSON.stringify([queryId, id]);
      const classId = state.classIdOf(label);
      const isKnown = classId !== undefined && state.hasLearnt({ queryId, id }, { classId, text });
      if (isKnown && !changed.has(row)) return false;
      changed.add(row);
      return true;
    });
    if (examples.length === 0) return [];
    if (state.rowCount + examples.length <= knownExamplesMax) return [{ ...call, examples }];
    const message = `A classifier can learn at most ${knownExamplesMax} rows of queries.`;
    reject(new HubError('QUOTA_EXCEEDED', message));
    return [];
  });
}

export const tooManyClasses = (classesMax: number) =>
  new HubError(
    'QUOTA_EXCEEDED',
    `A classifier can have at most ${classesMax} classes. Delete some classes, or train another classifier.`,
  );

export type EventContent = Omit<EventDoc, 'id' | 'accountId' | 'version'>;

/** Returns the event of these calls. Labels that the state does not have become new classes. */
export function toEvent(
  batch: PendingCall[],
  state: Pick<ClassifierState, 'classIdOf'>,
  { createClassId, nowMs }: { createClassId: () => string; nowMs: () => number },
): EventContent {
  const fresh = new Map<string, string>();
  const classIdOf = (label: string): string => {
    const known = state.classIdOf(label) ?? fresh.get(label);
    if (known !== undefined) return known;
    const classId = createClassId();
    fresh.set(label, classId);
    return classId;
  };
  const calls: TrainCall[] = batch.map(({ eventId, examples, job }) => ({
    eventId,
    examples: examples.map(({ label, ...example }) => ({ classId: classIdOf(label), ...example })),
    ...(job === undefined ? {} : { job }),
  }));
  const newClasses = [...fresh].map(([label, classId]) => ({ classId, label }));
  const characters = batch.reduce((sum, call) => sum + charactersOf(call), 0);
  return { at: nowMs(), characters, calls, ...(newClasses.length > 0 ? { newClasses } : {}) };
}
