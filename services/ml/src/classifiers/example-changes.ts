/**
 * Corrects and deletes single examples. The event that has the example is replaced, so that the old text does not stay
 * in the store. A new event makes every process learn the log again.
 */

import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import { type Expected, requireVersion } from '@datahub/service-kit/call/expected-version';
import { turnForText } from '@datahub/service-kit/yield-to-loop';
import type { EventDoc } from '../documents.ts';
import type { MlStore } from '../store.ts';
import type { ClassifierLog } from './classifier-log.ts';
import type { ClassifierState } from './classifier-state.ts';
import { examplesOf, readEvent, unknownExample } from './examples.ts';
import type { Place } from './known-examples.ts';
import { classesMaxDefault, type EventContent, tooManyClasses } from './train-batch.ts';

export interface ExampleChangeDeps {
  store: MlStore;
  createClassId: () => string;
  nowMs: () => number;
}

/**
 * The size in JSON up to which corrections may lengthen the examples of an event. A call of this size can train them. Each
 * correction reads and writes all of them, a whole event in one turn.
 */
const eventBytesMax = 8 * 1024 ** 2;

interface ChangeRequest {
  classifier: { accountId: string; classifierId: string };
  place: Place;
  /** Undefined deletes the example. A correction leaves undefined members unchanged. */
  correction: { label: string | undefined; text: string | undefined } | undefined;
  expected: Expected;
}

/** The example before the change, and the version that the store has of its event. */
interface Found {
  classId: string;
  text: string;
  at: number;
  /** Those that the event creates. */
  newClasses: NonNullable<EventDoc['newClasses']>;
  version: number;
}

interface Content {
  classId: string;
  text: string;
  /** The class, if a reader of the log may not know it yet. */
  added: { classId: string; label: string } | undefined;
}

/**
 * Resolves to the corrected example. Rejects with NOT_FOUND, VERSION_MISMATCH, CONFLICT (a row of a query),
 * QUOTA_EXCEEDED (too many classes) or TOO_LARGE.
 */
export async function changeExample(
  log: ClassifierLog,
  deps: ExampleChangeDeps,
  request: ChangeRequest,
): Promise<{ classId: string; text: string; at: number } | undefined> {
  const { store, nowMs } = deps;
  const { place, correction, expected } = request;
  let found: Found | undefined;
  let content: Content | undefined;
  let isReplaced = false;
  const toEvent = async (state: ClassifierState): Promise<EventContent | undefined> => {
    if (found === undefined) requireVersion(state, expected);
    using _ = await store.largeEvents(request.classifier.accountId);
    return await replaceEvent(state);
  };
  const replaceEvent = async (state: ClassifierState): Promise<EventContent | undefined> => {
    const event = await readEvent(store, request.classifier, place);
    if (event === null) throw unknownExample();
    found ??= find(event, place, state);
    const { classId, text } = found;
    content = correction && correct(found, { state, correction, deps });
    const isSame = content?.classId === classId && content.text === text;
    // After an interrupted call, the store can have a version that no event of the log records.
    if (isSame && !isReplaced && state.versionOf(place.event) === found.version) return undefined;
    const next = changed({ ...event, newClasses: found.newClasses }, place, content);
    if ((content?.text.length ?? 0) > text.length) requireFits(next);
    found.version++;
    // It was parsed in this turn.
    await turnForText(event.characters ?? 0);
    const replaced = await store.events.replace({ ...next, version: found.version });
    if (!replaced) throw changedMeanwhile();
    isReplaced = true;
    const change = { event: place.event, version: found.version, from: classId };
    return {
      at: nowMs(),
      characters: 0,
      ...(content?.added === undefined ? {} : { newClasses: [content.added] }),
      changedExample: content === undefined ? change : { ...change, to: content.classId },
    };
  };
  await log.append(toEvent).catch((err) => {
    throw isReplaced ? outcomeUnknown(err) : err;
  });
  return content && { ...content, at: found?.at ?? 0 };
}

/** Rows of queries are not corrected here, because the next job would train the row as it is in the database. */
const rowOfQuery = () =>
  new HubError(
    'CONFLICT',
    'This example is a row of a query. Correct the row, then train from the query again.',
  );

const changedMeanwhile = () =>
  new HubError('UNAVAILABLE', 'Another call is changing this example, or one trained with it. Try again.', {
    retryable: true,
  });

function requireFits({ calls = [] }: EventDoc): void {
  let bytes = 0;
  for (const { examples } of calls)
    for (const { text } of examples) bytes += Buffer.byteLength(JSON.stringify(text));
  if (bytes <= eventBytesMax) return;
  throw new HubError(
    'TOO_LARGE',
    `With this text, the examples that were trained together with this one would have ${bytes} bytes; corrections can lengthen them up to ${eventBytesMax}. Delete the example, and train it anew.`,
  );
}

function find(event: EventDoc, place: Place, { classes }: ClassifierState): Found {
  const example = examplesOf(event)[place.index];
  if (example === undefined || !classes.has(example.classId)) throw unknownExample();
  if (example.row !== undefined) throw rowOfQuery();
  return { ...example, at: event.at, newClasses: event.newClasses ?? [], version: event.version };
}

function correct(
  { classId, text }: Found,
  {
    state,
    correction,
    deps,
  }: {
    state: ClassifierState;
    correction: NonNullable<ChangeRequest['correction']>;
    deps: ExampleChangeDeps;
  },
): Content {
  const { label } = correction;
  const content = { classId, text: correction.text ?? text, added: undefined };
  if (label === undefined) return content;
  const known = state.classIdOf(label);
  if (known === undefined && state.classes.size >= classesMaxDefault) throw tooManyClasses(classesMaxDefault);
  const to = known ?? deps.createClassId();
  // Readers of the log can reach the example before the event that created the class.
  return to === classId ? content : { ...content, classId: to, added: { classId: to, label } };
}

function changed(event: EventDoc, { index }: Place, content: Content | undefined): EventDoc {
  const { classId, text, added } = content ?? { classId: '', text: '', added: undefined };
  let at = 0;
  let longer = 0;
  const calls = event.calls?.map((call) => ({
    ...call,
    examples: call.examples.map((example) => {
      if (at++ !== index) return example;
      longer = text.length - example.text.length;
      return { ...example, classId, text };
    }),
  }));
  const newClasses = [...(event.newClasses ?? []), ...(added === undefined ? [] : [added])];
  return {
    ...event,
    ...(calls === undefined ? {} : { calls }),
    ...(newClasses.length === 0 ? {} : { newClasses }),
    ...(event.characters === undefined ? {} : { characters: Math.max(0, event.characters + longer) }),
  };
}
