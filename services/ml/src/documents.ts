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
  /** With `job`, each has the id of its row. */
  examples: { classId: string; text: string; id?: string }[];
  /** The examples are rows of a query. */
  job?: RowSource;
}

/** Where a job has its rows from. */
export interface RowSource {
  jobId: string;
  queryId: string;
}

/** A correction or deletion of an example in an earlier event, which was replaced before. */
export interface ExampleChange {
  /** The number of the earlier event, and its version after the change. */
  event: number;
  version: number;
  /** The class before and after; undefined after a deletion. */
  from: string;
  to?: string;
}

/**
 * One event of the log of a classifier. Its id is `<classifier id>/<number>`, with a padded number and without gaps. A
 * process whose number is taken applies the event of that number first. Concurrent calls share an event. Examples keep
 * their places in it: a deleted one has an empty class and text.
 */
export interface EventDoc extends Doc {
  at: number;
  /** Characters of the texts and labels in `calls`. Absent in old events. */
  characters?: number;
  calls?: TrainCall[];
  /** Classes whose label is new, or may be for a reader of the log: a class can be repeated. */
  newClasses?: { classId: string; label: string }[];
  deletedClassId?: string;
  changedExample?: ExampleChange;
}

export type JobState = 'queued' | 'running' | 'done' | 'failed';

/** What one run of a job read; see `RowCounts` in ml.proto. */
export interface JobCounts {
  rows: number;
  nullIds: number;
  invalid: number;
  faults: { row: number; detail: string }[];
  truncated: boolean;
}

/** Trains a classifier from the rows of a query. */
export interface JobDoc extends Doc {
  classifierId: string;
  queryId: string;
  /** The key that started it. Gateways look up what it may do. */
  keyId: string;
  contextJson: string;
  columns: { text: string; label: string; id: string };
  state: JobState;
  counts: JobCounts;
  trained: number;
  corrected: number;
  error: { code: string; detail: string } | null;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
  /** Of the gateway that runs it. */
  lease: { token: string; until: number } | null;
  /** Null until the job has ended. */
  expiresAt: number | null;
}

/** One for each job that has not ended, with its id: a short list of what is to be done. */
export interface OpenJobDoc extends Doc {
  createdAt: number;
}

const digits = 12;

export function eventIdOf(classifierId: string, number: number): string {
  return `${classifierId}/${String(number).padStart(digits, '0')}`;
}
