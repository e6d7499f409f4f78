/** Reads the examples of a classifier from its log. */

import { HubError } from '@datahub/service-kit/call/error';
import { createLoopYield } from '@datahub/service-kit/yield-to-loop';
import { type EventDoc, eventIdOf } from '../documents.ts';
import type { MlStore } from '../store.ts';
import type { Place, RowIdentity } from './known-examples.ts';
import { readEvents } from './log/event-log.ts';

export interface StoredExample {
  exampleId: string;
  classId: string;
  text: string;
  /** The time of training in milliseconds since 1970. */
  at: number;
}

export interface ExamplePage {
  examples: StoredExample[];
  /** The `after` of the next page; undefined if no further examples follow. */
  next: string | undefined;
}

const idShape = /^([1-9]\d{0,11})\.(\d{1,7})\.([^.]+)$/;
/** The most characters that are read for a page. A longer text is a page of its own. */
const pageCharactersMax = 4_000_000;
/** The most examples that are read for a page, those that it leaves out included. */
const readMax = 20_000;

/** After so many examples, other calls may run. */
const examplesPerPiece = 16;

/**
 * The last, random characters of the classifier's id. Example ids end with them, so they match only their classifier.
 */
const endOf = (classifierId: string): string => classifierId.slice(-10);

const toExampleId = ({ event, index }: Place, classifierId: string): string =>
  `${event}.${index}.${endOf(classifierId)}`;

/** Throws NOT_FOUND if the id is not that of an example of this classifier. */
export function toPlace(exampleId: string, classifierId: string): Place {
  const [, event, index, end] = idShape.exec(exampleId) ?? [];
  if (event === undefined || end !== endOf(classifierId)) throw unknownExample();
  return { event: Number(event), index: Number(index) };
}

export interface LoggedExample {
  classId: string;
  text: string;
  /** Set if the example is a row of a query. */
  row?: RowIdentity;
}

export const unknownExample = () => new HubError('NOT_FOUND', 'There is no such example.');

interface PageOptions {
  /** The page starts after this place. */
  after: Place | undefined;
  limit: number;
  /** Examples for which this returns false are left out. */
  isListed: (example: LoggedExample, place: Place) => boolean;
  /** True if no other examples follow after so many. Asked for the first page. */
  isWhole: (listed: number) => boolean;
}

/** Returns a page of examples in the order of training. It can be empty although others follow. */
export async function readExamples(
  store: MlStore,
  classifier: { accountId: string; classifierId: string },
  { after, limit, isListed, isWhole }: PageOptions,
): Promise<ExamplePage> {
  const examples: StoredExample[] = [];
  let [read, characters] = [0, 0];
  let last = '';
  const mayYield = createLoopYield();
  for await (const events of readEvents(store, classifier, (after?.event ?? 1) - 1)) {
    for (const event of events) {
      const number = numberOf(event);
      const from = number === after?.event ? after.index + 1 : 0;
      for (const [i, example] of examplesOf(event).slice(from).entries()) {
        if (read % examplesPerPiece === 0) await mayYield();
        const { classId, text } = example;
        const place = { event: number, index: from + i };
        const isWanted = isListed(example, place);
        const isFull = isWanted && examples.length === limit;
        characters += text.length;
        if (read > 0 && (isFull || read >= readMax || characters > pageCharactersMax))
          return { examples, next: last };
        read++;
        last = toExampleId(place, classifier.classifierId);
        if (isWanted) examples.push({ exampleId: last, classId, text, at: event.at });
        if (after === undefined && isWhole(examples.length)) return { examples, next: undefined };
      }
    }
  }
  return { examples, next: undefined };
}

/** Resolves to null if the log has no such event. */
export function readEvent(
  store: MlStore,
  { accountId, classifierId }: { accountId: string; classifierId: string },
  { event }: Place,
): Promise<EventDoc | null> {
  return store.events.get(accountId, eventIdOf(classifierId, event));
}

export const examplesOf = (event: EventDoc): LoggedExample[] =>
  (event.calls ?? []).flatMap(({ examples, job }) =>
    examples.map(({ classId, text, id = '' }) =>
      job === undefined ? { classId, text } : { classId, text, row: { queryId: job.queryId, id } },
    ),
  );

function numberOf({ id }: EventDoc): number {
  return Number(id.slice(id.lastIndexOf('/') + 1));
}
