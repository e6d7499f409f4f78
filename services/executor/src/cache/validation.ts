/**
 * Renews a kept answer without running its query: reads the value of `validate` first, in the same snapshot. Read after
 * the query, or in another snapshot, the value could belong to newer data than the answer.
 */

import { hash } from 'node:crypto';
import { HubError } from '@datahub/service-kit/call/error';
import type { Connection, Outcome, RunOptions, Statement } from '../engine.ts';
import type { ResponseOptions, ResponseWriter } from '../execution/execution.ts';
import type { CallValues, PreparedQuery } from '../execution/prepare.ts';
import type { RowSink } from '../row-sink.ts';
import type { CacheEntry } from './answer-store.ts';

export interface Validation {
  statement: Statement;
  /** Of the kept answer; undefined if it cannot be renewed. */
  readonly known: string | undefined;
  /** A digest of the value in the snapshot of the run; undefined if there was none. */
  value: string | undefined;
  /** The value is the same, so the query did not run. */
  isUnchanged: boolean;
}

/** An answer is not renewed for longer than this. */
const renewedMsMax = 86_400_000;

/** Undefined if the query has no validation, or if its values cannot be bound: the query runs then. */
export function validationOf(
  { validation }: PreparedQuery,
  values: CallValues,
  { old, now }: { old: CacheEntry | undefined; now: number },
): Validation | undefined {
  if (validation === undefined) return undefined;
  const isRenewable = old?.answer !== undefined && now - old.ranAt <= renewedMsMax;
  try {
    const { pinnedJson, contextJson } = values;
    const statement = validation.bind({ pinnedJson, contextJson });
    return {
      statement,
      known: isRenewable ? old.validation : undefined,
      value: undefined,
      isUnchanged: false,
    };
  } catch (err) {
    if (err instanceof HubError && err.code === 'CONTEXT_INVALID') return undefined;
    throw err;
  }
}

export interface ValidatedRun {
  statement: Statement;
  options: RunOptions;
  validation: Validation;
  createWriter(options: ResponseOptions): ResponseWriter;
}

/** Like `connection.run`. If the value cannot be read, the query runs. */
export async function runValidated(
  connection: Connection,
  run: ValidatedRun,
  sink: RowSink,
): Promise<Outcome> {
  const { statement, options, validation } = run;
  validation.value = undefined;
  validation.isUnchanged = false;
  if (connection.endSnapshot === undefined) return connection.run(statement, sink, options);
  let read: Outcome;
  try {
    read = await readValue(connection, run);
  } catch (err) {
    if (!connection.broken) await connection.endSnapshot();
    if (connection.broken || (err instanceof HubError && err.code === 'CANCELLED')) throw err;
    return connection.run(statement, sink, options);
  }
  validation.isUnchanged = validation.value !== undefined && validation.value === validation.known;
  if (!validation.isUnchanged) return connection.run(statement, sink, { ...options, snapshot: 'last' });
  await connection.endSnapshot();
  return read;
}

const valueBytesMax = 65_536;

async function readValue(
  connection: Connection,
  { statement, options, validation, createWriter }: ValidatedRun,
): Promise<Outcome> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const reply = {
    chunk: (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= valueBytesMax) chunks.push(chunk);
      return true;
    },
    onDrain: () => {},
  };
  const writer = createWriter({ format: 'json', numbers: 'string', meta: false, reply });
  try {
    const outcome = await connection.run(validation.statement, writer, {
      ...options,
      maxRows: 1,
      snapshot: { next: statement },
    });
    writer.finish(outcome, { queueMs: 0, durationMs: 0 });
    const isOne = outcome.rowCount === 1 && !outcome.truncated && bytes <= valueBytesMax;
    if (isOne) validation.value = hash('sha256', Buffer.concat(chunks), 'base64url');
    return outcome;
  } catch (err) {
    writer.abandon();
    throw err;
  }
}
