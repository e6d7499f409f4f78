/** What the ml service stores: the log of events of each classifier. Models follow from the log and can be rebuilt. */

import type { Doc } from '@datahub/document-store';

export interface ClassifierDoc extends Doc {
  name: string;
  /** Milliseconds since 1970. */
  createdAt: number;
}

/** One `train` call. */
export interface TrainCall {
  /** A repeated call with the same id is learnt once. */
  eventId: string;
  examples: { classId: string; text: string }[];
}

/**
 * One event of the log of a classifier. Its id is `<classifier id>/<number>`, with a padded number and without gaps. A
 * process whose number is taken applies the event of that number first. Concurrent calls share an event.
 */
export interface EventDoc extends Doc {
  at: number;
  /** Characters of the texts and labels in `calls`. Absent in old events. */
  characters?: number;
  calls?: TrainCall[];
  /** Classes whose label is new. */
  newClasses?: { classId: string; label: string }[];
  deletedClassId?: string;
}

const digits = 12;

export function eventIdOf(classifierId: string, number: number): string {
  return `${classifierId}/${String(number).padStart(digits, '0')}`;
}
