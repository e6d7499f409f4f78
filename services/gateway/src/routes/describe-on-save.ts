/**
 * Has saved queries described at their sources, beside the answers: a save never waits for a source, and succeeds
 * whether there is one or not. Who reads a signature that is not there yet has it made, within the same bound.
 */

import type { Executor } from '@datahub/executor-session/executor';
import type { Query } from '@datahub/proto/catalog/v1/catalog';
import { type CallContext, createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';

/** What a source says of a query; `problem` in place of columns where it refuses the statement. */
export interface SignatureJson {
  columns: object[];
  variables: object[];
  problem?: object;
}

type Caller = Pick<CallContext, 'principal' | 'requestId' | 'traceparent'>;
type Described = Pick<Query, 'queryId' | 'version' | 'context'>;

export interface Describer {
  /** Starts describing and returns at once. */
  saved(query: Described | undefined, caller: Caller): void;
  /** Null where the source does not tell within a second. */
  describe(query: Described, caller: Caller): Promise<SignatureJson | null>;
}

const timeoutMs = 1_000;
/** Beyond it a save is not described by itself; its first reader has it done. */
const underWayMax = 64;

export function createDescriber(executor: Pick<Executor, 'describeQuery'>): Describer {
  const underWay = new Map<string, Promise<SignatureJson | null>>();
  const describe = (query: Described, caller: Caller): Promise<SignatureJson | null> => {
    const key = `${query.queryId} ${query.version}`;
    const known = underWay.get(key);
    if (known !== undefined) return known;
    const asked = ask(executor, query, caller).finally(() => underWay.delete(key));
    underWay.set(key, asked);
    return asked;
  };
  return {
    saved: (query, caller) => {
      if (query !== undefined && underWay.size < underWayMax) void describe(query, caller);
    },
    describe,
  };
}

/** The statement’s own faults are worth telling; of a source that is away there is nothing to say. */
const told = new Set(['SQL_REJECTED', 'COMMAND_MISMATCH']);

async function ask(
  executor: Pick<Executor, 'describeQuery'>,
  { queryId, context }: Described,
  { principal, requestId, traceparent }: Caller,
): Promise<SignatureJson | null> {
  const ctx = createCallContext({ timeoutMs, requestId, ...(principal === undefined ? {} : { principal }) });
  try {
    const { columns, variables } = await executor.describeQuery({ queryId }, { ...ctx, traceparent });
    return { columns, variables };
  } catch (err) {
    if (!(err instanceof HubError) || !told.has(err.code)) return null;
    const { code, message: detail, sql } = err;
    const variables = context.map(({ key, type }) => ({ key, type }));
    return { columns: [], variables, problem: { code, detail, ...(sql === undefined ? {} : { sql }) } };
  }
}
