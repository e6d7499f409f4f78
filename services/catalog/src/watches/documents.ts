/** The documents of watches. */

import type { Comparison, RunOutcome, WatchKind } from '@datahub/contract/watches';
import type { Doc } from '@datahub/document-store';
import type { Dated } from '../documents.ts';
import type { Schedule } from './schedule.ts';

export interface WatchDoc extends Doc, Dated {
  hubId: string;
  label: string;
  /** Unique among the watches of the hub; absent for none. */
  path?: string;
  queryId: string;
  contextJson: string;
  schedule: Schedule;
  when: WatchKind;
  /** Present if `when` is `condition`. */
  condition?: { column: string; is: Comparison; valueJson: string; forRuns: number };
  /** The columns that tell rows apart. If empty, the whole row does. */
  by: string[];
  /** The columns whose values leave the hub. */
  include: string[];
  /** The ids of destinations. */
  to: string[];
  /** 0 or 1. */
  paused: number;
  /** Why the hub paused it; absent if it did not. */
  pausedBecause?: string;
  /** The key whose rights the watch has: the one that wrote it last. */
  keyId: string;
}

/**
 * What a watch found, and when it is due. It has the id of the watch, and changes with each run, so it is apart from the
 * watch. The record of a run, its event and the next state are one write.
 */
export interface WatchStateDoc extends Doc {
  hubId: string;
  /** The due time of the next tick, or of the one that runs; null if there is none. */
  tick: number | null;
  /** When a gateway looks at the watch next: the time of the tick, or the end of the lease. */
  dueAt: number | null;
  lease?: TickLease;
  /** The run that was asked for. */
  asked?: { runId: string; at: number };
  /** What the members below are about; another query, for example, starts anew. */
  basis?: string;
  /** The rows of the last run that worked, and the version of the query that had them, which older releases do not write. */
  snapshot?: { id: string; digest: string; queryVersion?: number };
  /** Of a condition; absent before the first run. */
  level?: 'ok' | 'firing';
  /** How many runs in a row have met the condition. */
  metRuns: number;
  /** 1 if the last run failed. */
  isFailing: number;
  lastRunId?: string;
  /** How many runs the watch has had. */
  runs: number;
  /** The lease of the last run, so that a repeated call finds it done. */
  lastLease?: string;
}

export interface TickLease {
  token: string;
  until: number;
  runId: string;
  /** What the watch was about when the tick was taken. */
  basis?: string;
  /** The columns whose values it told then. */
  include?: readonly string[];
  /** The due time of the tick. */
  tick: number;
  manual: boolean;
  startedAt: number;
  /** True if the query writes, so that no other gateway may run it again. */
  writes: boolean;
  /** How many gateways have taken the tick. */
  attempt: number;
}

/** The record of a tick, or of several ticks in a row that were missed or skipped. */
export interface WatchRunDoc extends Doc {
  watchId: string;
  hubId: string;
  dueAt: number;
  untilAt: number;
  ticks: number;
  manual: boolean;
  startedAt: number | null;
  endedAt: number;
  outcome: RunOutcome;
  code?: string;
  detail?: string;
  rows?: number;
  changes?: { new: number; changed: number; gone: number };
  queryVersion?: number;
  durationMs?: number;
  eventId?: string;
  /** The document with the rows that it told. */
  rowsId?: string;
}

/** The rows of a run, to compare the next one with. Never changed. Its id is `<watch id>/<run id>/<lease>`. */
export interface WatchSnapshotDoc extends Doc {
  /** For each row the digests of its key and of its values. */
  rows: Uint8Array;
  ndjson: Uint8Array;
  /** Bytes that count against the account; absent if an older hub wrote the rows. */
  size?: number;
}

/** The rows that a run told. Its id is `<run id>/<lease>`. */
export interface WatchRunRowsDoc extends Doc {
  ndjson: Uint8Array;
  /** Bytes that count against the account; absent if an older hub wrote the rows. */
  size?: number;
  expiresAt: number;
}
