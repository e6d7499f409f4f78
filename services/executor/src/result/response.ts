/** What an execution asks of a response, and the port through which it writes it. */

import type { CsvOptions, FormatName } from '@datahub/contract/formats';
import type { Numbers } from '@datahub/contract/numbers';
import type { ExecutionReply } from '@datahub/executor-session/executor';
import type { Annotation } from '@datahub/proto/executor/v1/executor';
import type { Outcome } from '../ports/engine.ts';
import type { RowSink } from '../ports/row-sink.ts';

/** The wait for a connection, and the time of the statement. */
export interface Timing {
  readonly queueMs: number;
  readonly durationMs: number;
}

/** Writes one response: its rows, then its end. */
export interface ResponseWriter extends RowSink {
  /** Without rows that were dropped. */
  readonly rowCount: number;
  /** To be waited for before `finish`, if the end of the response takes long. */
  turnToFinish(): Promise<void> | undefined;
  /** The promise, if there is one, resolves when the reader has taken the last large row, or with `abandon`. */
  finish(outcome: Outcome, timing: Timing): Promise<void> | undefined;
  /** Drops the bytes that were not sent, because the execution failed. */
  abandon(): void;
}

export interface ResponseOptions {
  format: FormatName;
  numbers: Numbers;
  csv?: CsvOptions | undefined;
  meta: boolean;
  /** Further rows are dropped, and the response says so. */
  maxRows?: number | undefined;
  /** Writes all results of a procedure, in JSON. */
  allResults?: boolean | undefined;
  /** Columns in which a NULL fails the answer. */
  notNull?: readonly string[] | undefined;
  reply: ExecutionReply;
  /** The owner of the bytes that wait for a reader. */
  accountId?: string | undefined;
  /** The members that the receiver adds to each row. */
  annotations?: readonly Annotation[] | undefined;
}

/** What a response contains. */
export type RowFigures = Pick<ResponseWriter, 'rowCount' | 'truncated'>;
