/**
 * Signatures of stored queries: the columns and variables that a source reports for them. Saving a query starts to
 * describe it in the background, so it succeeds even if the source is unreachable. Only a caller who asks for the
 * signature waits for it: at most 300 ms when saving, and at most a second when reading a query that has none yet.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { type JsonType, jsonTypes } from '@datahub/contract/json-types';
import type { Executor } from '@datahub/executor-session/executor';
import type { Query, QueryWarning } from '@datahub/proto/catalog/v1/catalog';
import type { DescribeQueryResponse } from '@datahub/proto/executor/v1/executor';
import { type CallContext, createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { count, type FromSchema, list, record, text, time } from '../../http/json-schema.ts';

const flag = { type: 'boolean' } as const;
const column = record(
  {
    name: text,
    type: text,
    nullable: flag,
    jsonType: { type: 'string', enum: jsonTypes },
    labels: list(text),
  },
  ['labels'],
);
const variable = record({ key: text, type: text, list: flag, nullable: flag, labels: list(text) }, [
  'type',
  'labels',
]);
export const sqlFault = record({ state: text, line: count, column: count }, ['state', 'line', 'column']);
/** Has `problem` if the database rejected the statement. */
export const signature = record(
  {
    columns: list(column),
    variables: list(variable),
    problem: record({ code: text, detail: text, sql: sqlFault }, ['sql']),
    checkedAt: time,
    version: count,
  },
  ['problem'],
);
/** The signature in the answer to a read: null if the source did not answer in time. */
export const signatureOrNull = { ...signature, type: ['object', 'null'] } as const;

export type SignatureJson = FromSchema<typeof signature>;

/** Warnings of variables whose use in the text is probably a mistake. */
export const warnings = list(record({ code: text, detail: text, sql: sqlFault }));

type WarningJson = FromSchema<typeof warnings>[number];

const toWarningJson = ({ code, detail, line, column }: QueryWarning): WarningJson => ({
  code,
  detail,
  sql: { line, column },
});

type Caller = Pick<CallContext, 'principal' | 'requestId' | 'traceparent'>;
type Described = Pick<Query, 'queryId' | 'version' | 'context'>;
type Saved = { query?: Described | undefined; warnings: QueryWarning[] };

export interface Signatures {
  /**
   * Starts to describe a saved query, and returns the members that the answer to the save gets. Resolves at once, unless
   * `isAsked` is true: then it waits for the source, at most 300 ms.
   */
  saved(
    saved: Saved,
    caller: Caller,
    isAsked: boolean,
  ): Promise<{ signature?: SignatureJson; warnings?: WarningJson[] }>;
  /** Resolves to null if the source does not answer within a second. */
  describe(query: Described, caller: Caller): Promise<SignatureJson | null>;
}

const timeoutMs = 1_000;
const savedTimeoutMs = 300;
/** The most concurrent describes that saves start. Beyond it, the first read of the query describes it. */
const underWayMax = 64;

export function createSignatures(
  executor: Pick<Executor, 'describeQuery'>,
  nowMs: () => number = Date.now,
): Signatures {
  const underWay = new Map<string, Promise<SignatureJson | null>>();
  const describe = (query: Described, caller: Caller): Promise<SignatureJson | null> => {
    const key = `${query.queryId} ${query.version}`;
    const known = underWay.get(key);
    if (known !== undefined) return known;
    const described = readSignature(query, caller, { executor, nowMs }).finally(() => underWay.delete(key));
    underWay.set(key, described);
    return described;
  };
  return {
    saved: async ({ query, warnings }, caller, isAsked) => {
      if (query === undefined) return {};
      if (!isAsked) {
        if (underWay.size < underWayMax) void describe(query, caller);
        return {};
      }
      const timer = new AbortController();
      const timeout = sleep(savedTimeoutMs, undefined, { signal: timer.signal }).catch(() => undefined);
      const described = await Promise.race([describe(query, caller), timeout]);
      timer.abort();
      return { ...(described ? { signature: described } : {}), warnings: warnings.map(toWarningJson) };
    },
    describe,
  };
}

/** Codes of faults in the statement itself. Other failures, such as an unreachable source, say nothing about it. */
const statementFaults = new Set(['SQL_REJECTED', 'COMMAND_MISMATCH']);

async function readSignature(
  { queryId, context, version }: Described,
  { principal, requestId, traceparent }: Caller,
  { executor, nowMs }: { executor: Pick<Executor, 'describeQuery'>; nowMs: () => number },
): Promise<SignatureJson | null> {
  const ctx = createCallContext({ timeoutMs, requestId, principal });
  try {
    return toSignatureJson(await executor.describeQuery({ queryId }, { ...ctx, traceparent }));
  } catch (err) {
    // A statement that failed because of concurrent ones, for example in a deadlock, may succeed later.
    if (!(err instanceof HubError) || !statementFaults.has(err.code) || err.retryable) return null;
    const { code, message: detail, sql } = err;
    const variables = context.map(({ key, type, required }) => ({
      key,
      type,
      list: type?.endsWith('[]') ?? false,
      nullable: required !== true,
    }));
    const problem = { code, detail, sql };
    return { columns: [], variables, problem, checkedAt: new Date(nowMs()).toISOString(), version };
  }
}

export function toSignatureJson({
  columns,
  variables,
  checkedAt,
  version,
}: DescribeQueryResponse): SignatureJson {
  return {
    columns: columns.map(({ name, type, nullable = true, jsonType, labels }) => ({
      name,
      type,
      nullable,
      jsonType: jsonType as JsonType,
      ...(labels && { labels: labels.values }),
    })),
    variables: variables.map(({ key, type, list, nullable, labels }) => ({
      key,
      type,
      list,
      nullable,
      ...(labels && { labels: labels.values }),
    })),
    checkedAt,
    version,
  };
}
