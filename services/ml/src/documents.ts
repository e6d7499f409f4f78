/** What the ml service keeps: a classifier is its log; models are made from it and can always be made again. */

import type { Doc } from '@datahub/document-store';

export interface ClassifierDoc extends Doc {
  name: string;
  /** Milliseconds since 1970. */
  createdAt: number;
}

/** One call of `train`. */
export interface TrainCall {
  /** A repeat with the same id is counted once. */
  eventId: string;
  examples: { classId: string; text: string }[];
}

/**
 * One event of a classifier's log. Its id is `<classifier id>/<number>`, the number padded, without gaps: whoever finds
 * its number taken reads what is there first. Calls that waited for each other share an event.
 */
export interface EventDoc extends Doc {
  at: number;
  /** Of the texts and labels in `calls`; absent in logs from before it was counted. */
  characters?: number;
  calls?: TrainCall[];
  /** Labels of classes that came up with this event. */
  newClasses?: { classId: string; label: string }[];
  /** The class that this event deletes. */
  deletedClassId?: string;
}

const digits = 12;

export function eventIdOf(classifierId: string, number: number): string {
  return `${classifierId}/${String(number).padStart(digits, '0')}`;
}
