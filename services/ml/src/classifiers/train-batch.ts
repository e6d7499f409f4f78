/** Calls to train that wait for their turn: which of them one event takes. */

import { HubError } from '@datahub/service-kit/call/error';
import type { EventDoc, TrainCall } from '../documents.ts';
import type { CallResult, ReplicaState } from './classifier-state.ts';

export interface TrainExample {
  label: string;
  text: string;
}

export interface Waiting {
  eventId: string;
  examples: TrainExample[];
  resolve: (results: CallResult[]) => void;
  reject: (err: unknown) => void;
}

/** Characters of one event; calls beyond it go into the next. */
const eventCharactersMax = 4_000_000;
/** Each prediction names them all, and the learner counts them in 16 bits, with those that were deleted lately. */
const classesMaxDefault = 10_000;

export function charactersOf({ examples }: Waiting): number {
  return examples.reduce((sum, { text, label }) => sum + text.length + label.length, 0);
}

/** As many from the front as one event holds, and one at least. */
export function takeBatch(waiting: Waiting[]): Waiting[] {
  let characters = 0;
  let count = 0;
  for (const call of waiting) {
    characters += charactersOf(call);
    if (count > 0 && characters > eventCharactersMax) break;
    count++;
  }
  return waiting.splice(0, count);
}

/** Those for whose new labels there is room; the others are refused whole, with QUOTA_EXCEEDED. */
export function takeFitting(
  calls: Waiting[],
  state: Pick<ReplicaState, 'classes' | 'classIdOf'>,
  classesMax = classesMaxDefault,
): Waiting[] {
  const fresh = new Set<string>();
  return calls.filter(({ examples, reject }) => {
    const added = new Set<string>();
    for (const { label } of examples) {
      if (!fresh.has(label) && state.classIdOf(label) === undefined) added.add(label);
    }
    if (added.size > 0 && state.classes.size + fresh.size + added.size > classesMax) {
      reject(
        new HubError(
          'QUOTA_EXCEEDED',
          `A classifier takes at most ${classesMax} classes. Delete some, or train another one.`,
        ),
      );
      return false;
    }
    for (const label of added) fresh.add(label);
    return true;
  });
}

export type EventContent = Omit<EventDoc, 'id' | 'accountId' | 'version'>;

/** The event of these calls; labels that the state does not know become new classes. */
export function toEvent(
  batch: Waiting[],
  state: Pick<ReplicaState, 'classIdOf'>,
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
  const calls: TrainCall[] = batch.map(({ eventId, examples }) => ({
    eventId,
    examples: examples.map(({ label, text }) => ({ classId: classIdOf(label), text })),
  }));
  const newClasses = [...fresh].map(([label, classId]) => ({ classId, label }));
  const characters = batch.reduce((sum, call) => sum + charactersOf(call), 0);
  return { at: nowMs(), characters, calls, ...(newClasses.length > 0 ? { newClasses } : {}) };
}
