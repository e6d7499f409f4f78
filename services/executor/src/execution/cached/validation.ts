/**
 * Renews a cached answer without running its query, if the value of `validate` is unchanged. The value is read before
 * the query, in the same snapshot. If it were read later or in another snapshot, it could belong to newer data than the
 * answer.
 */

import { hash } from 'node:crypto';
import { HubError } from '@datahub/service-kit/call/error';
import type { Connection, Outcome, RunOptions, Statement } from '../../ports/engine.ts';
import type { RowSink } from '../../ports/row-sink.ts';
import type { ResponseOptions, ResponseWriter } from '../../result/response.ts';
import type { CallValues, PreparedQuery } from '../prepare.ts';
import { readOne } from '../read-one.ts';
import type { CacheEntry } from './response-store.ts';

export interface Validation {
  statement: Statement;
  /** The digest of the cached answer's value; undefined if the answer cannot be renewed. */
  readonly known: string | undefined;
  /** The digest of the value in the snapshot of this run; undefined if there was none. */
  value: string | undefined;
  /** True if the value is unchanged, so the query did not run. */
  isUnchanged: boolean;
}

/** An answer is not renewed for longer than this. */
const renewedMsMax = 86_400_000;

/** Returns undefined if the query has no validation, or if its values cannot be bound. The query runs then. */
export function validationOf(
  { validation }: PreparedQuery,
  values: CallValues,
  { old, now }: { old: CacheEntry | undefined; now: number },
): Validation | undefined {
  if (validation === undefined) return undefined;
  const isRenewable = old?.answer !== undefined && now - old.ranAt <= renewedMsMax;
  try {
    const { pinnedJson, contextJson, scalarsAsLists, claimsJson } = values;
    const statement = validation.bind({ pinnedJson, contextJson, scalarsAsLists, claimsJson });
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

/** Like `connection.run`, but runs the query only if the value changed or cannot be read. */
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

async function readValue(
  connection: Connection,
  { statement, options, validation, createWriter }: ValidatedRun,
): Promise<Outcome> {
  const { outcome, json, nulls } = await readOne(connection, validation.statement, {
    options: { ...options, snapshot: { next: statement } },
    createWriter,
  });
  if (json !== undefined) validation.value = hash('sha256', `${nulls.join()} ${json}`, 'base64url');
  return outcome;
}
