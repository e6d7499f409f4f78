/** The documents that the ml service stores. The models follow from the logs of events and can be rebuilt. */

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
  /** If `job` is set, each example has the id of its row. */
  examples: { classId: string; text: string; id?: string }[];
  /** Set if the examples are rows of a query. */
  job?: RowSource;
}

/** The job, and the query whose rows it reads. */
export interface RowSource {
  jobId: string;
  queryId: string;
}

/** A correction or deletion of an example in an earlier event. That event was replaced before this one was appended. */
export interface ExampleChange {
  /** The number of the earlier event, and its version after the change. */
  event: number;
  version: number;
  /** The class before and after the change; `to` is undefined for a deletion. */
  from: string;
  to?: string;
}

/**
 * One event of the log of a classifier. Its id is `<classifier id>/<number>`; the numbers are padded and have no gaps.
 * If a number is already taken, the process applies that event first and uses the next number. Concurrent calls share
 * an event. Examples keep their positions: a deleted example has an empty class and text.
 */
export interface EventDoc extends Doc {
  at: number;
  /** Characters of the texts and labels in `calls`, and a fixed number for each example. Absent in old events. */
  characters?: number;
  calls?: TrainCall[];
  /** Classes that a reader of the log may not know. A class can appear in several events. */
  newClasses?: { classId: string; label: string }[];
  deletedClassId?: string;
  changedExample?: ExampleChange;
}

export type JobState = 'queued' | 'running' | 'done' | 'failed';

/** The counts of the rows that one run of a job read; see `RowCounts` in ml.proto. */
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
  /** The key that started the job. Gateways look up its scopes and limits. */
  keyId: string;
  /** Empty once the job has ended. */
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
  /** How often a gateway has released the job, and when it did so last. Absent if none has. */
  turns?: number;
  releasedAt?: number;
  /** The lease of the gateway that runs the job. */
  lease: { token: string; until: number } | null;
  /** Null until the job has ended. */
  expiresAt: number | null;
}

/** A job whose end nobody has told yet, with its id. Written in one step with its end. */
export interface EndedJobDoc extends Doc, Pick<JobDoc, 'classifierId' | 'queryId' | 'trained'> {
  state: string;
  code?: string;
}

/** A list of the jobs that have not ended, one document per job with the job's id. */
export interface OpenJobDoc extends Doc {
  createdAt: number;
}

const digits = 12;

export function eventIdOf(classifierId: string, number: number): string {
  return `${classifierId}/${String(number).padStart(digits, '0')}`;
}
