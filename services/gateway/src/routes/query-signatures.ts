/**
 * Signatures of stored queries: the columns and variables that a source reports for them. Saving a query starts
 * describing it and does not wait, so a save works without its source. A reader who finds no signature yet waits for at
 * most a second.
 */

import type { Executor } from '@datahub/executor-session/executor';
import type { Query } from '@datahub/proto/catalog/v1/catalog';
import { type CallContext, createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { answer, count, type FromSchema, list, text } from '../http/json-schema.ts';

const column = answer({ name: text, type: text, nullable: { type: 'boolean' } }, ['nullable']);
const sql = answer({ state: text, line: count, column: count }, ['state', 'line', 'column']);
const signatureObject = answer(
  {
    columns: list(column),
    variables: list(answer({ key: text, type: text }, ['type'])),
    problem: answer({ code: text, detail: text, sql }, ['sql']),
  },
  ['problem'],
);
/** Null if the source did not answer in time; `problem` if it rejected the statement. */
export const signature = { ...signatureObject, type: ['object', 'null'] } as const;

export type SignatureJson = FromSchema<typeof signatureObject>;

type Caller = Pick<CallContext, 'principal' | 'requestId' | 'traceparent'>;
type Described = Pick<Query, 'queryId' | 'version' | 'context'>;

export interface Signatures {
  /** Starts describing and returns at once. */
  saved(query: Described | undefined, caller: Caller): void;
  /** Null if the source does not answer within a second. */
  describe(query: Described, caller: Caller): Promise<SignatureJson | null>;
}

const timeoutMs = 1_000;
/** While this many are being described, a save does not start another one; the first reader does. */
const underWayMax = 64;

export function createSignatures(executor: Pick<Executor, 'describeQuery'>): Signatures {
  const underWay = new Map<string, Promise<SignatureJson | null>>();
  const describe = (query: Described, caller: Caller): Promise<SignatureJson | null> => {
    const key = `${query.queryId} ${query.version}`;
    const known = underWay.get(key);
    if (known !== undefined) return known;
    const described = readSignature(executor, query, caller).finally(() => underWay.delete(key));
    underWay.set(key, described);
    return described;
  };
  return {
    saved: (query, caller) => {
      if (query !== undefined && underWay.size < underWayMax) void describe(query, caller);
    },
    describe,
  };
}

/** Faults of the statement itself. A source that cannot be reached says nothing about the query. */
const statementFaults = new Set(['SQL_REJECTED', 'COMMAND_MISMATCH']);

async function readSignature(
  executor: Pick<Executor, 'describeQuery'>,
  { queryId, context }: Described,
  { principal, requestId, traceparent }: Caller,
): Promise<SignatureJson | null> {
  const ctx = createCallContext({ timeoutMs, requestId, ...(principal === undefined ? {} : { principal }) });
  try {
    const { columns, variables } = await executor.describeQuery({ queryId }, { ...ctx, traceparent });
    return { columns, variables };
  } catch (err) {
    if (!(err instanceof HubError) || !statementFaults.has(err.code)) return null;
    const { code, message: detail, sql } = err;
    const variables = context.map(({ key, type }) => ({ key, type }));
    return { columns: [], variables, problem: { code, detail, ...(sql === undefined ? {} : { sql }) } };
  }
}
