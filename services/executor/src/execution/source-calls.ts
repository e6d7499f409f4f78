/**
 * Calls about a source: test the connection, read its tables, and describe a query. They use the pool as executions do,
 * so all its limits apply.
 */

import type { Executor } from '@datahub/executor-session/executor';
import type { DescribeQueryResponse } from '@datahub/proto/executor/v1/executor';
import { type CallContext, requirePrincipal } from '@datahub/service-kit/call/call';
import type { Deadlines } from '@datahub/service-kit/call/deadlines';
import {
  type Catalog,
  type QueryDefinition,
  type SourceDefinition,
  toQueryDefinition,
} from '../definitions/definition.ts';
import type { Definitions } from '../definitions/definition-cache.ts';
import type { Connection } from '../engine.ts';
import type { PoolRegistry } from '../pool/pool-registry.ts';
import type { Lease } from '../pool/pool-types.ts';
import { withCancellation } from './cancellation.ts';
import { checkQuery } from './check.ts';
import { describeQuery } from './describe.ts';
import { identity, toFailure } from './execution-error.ts';
import { type CompileQuery, requireWithinLimits } from './prepare.ts';

export interface SourceDeps {
  definitions: Pick<Definitions, 'source' | 'query'>;
  pools: Pick<PoolRegistry<SourceDefinition>, 'pool'>;
  catalog: Pick<Catalog, 'saveSignature' | 'resolveDraft'>;
  compile: CompileQuery;
  now: () => number;
  /** The wall-clock time. */
  nowMs: () => number;
  deadlines: Deadlines;
  /** The time limit of one call, even if the caller's deadline is later. */
  timeoutMs: number;
}

/** The time limit of the suggestion. If it takes longer, the test of the source still succeeds. */
const suggestionTimeoutMs = 2_000;

export function createSourceCalls(
  deps: SourceDeps,
): Pick<Executor, 'testSource' | 'readSchema' | 'describeQuery' | 'checkQuery'> {
  const { definitions, catalog, compile, now, nowMs } = deps;
  const storedQuery = async (queryId: string, ctx: CallContext): Promise<QueryDefinition> => {
    const principal = requirePrincipal(ctx);
    const query = await definitions.query(queryId, principal, ctx);
    requireWithinLimits(principal, query);
    return query;
  };
  const describe = (query: QueryDefinition, ctx: CallContext) =>
    describeQuery(compile(query), query, {
      nowMs,
      describe: (form) =>
        withConnection(query.source, ctx, { ...deps, use: (connection) => connection.describe(form) }),
    });
  return {
    testSource: async ({ sourceId }, ctx) => {
      requirePrincipal(ctx);
      const source = await definitions.source(sourceId, ctx);
      const startedAt = now();
      return withConnection(source, ctx, {
        ...deps,
        use: async (connection) => {
          await connection.ping();
          const latencyMs = now() - startedAt;
          const suggestedPooling = await connection.suggestPooling?.(
            AbortSignal.timeout(suggestionTimeoutMs),
          );
          return { latencyMs, serverVersion: connection.serverVersion, suggestedPooling };
        },
      });
    },

    readSchema: async ({ sourceId }, ctx) => {
      requirePrincipal(ctx);
      const source = await definitions.source(sourceId, ctx);
      return withConnection(source, ctx, { ...deps, use: (connection) => connection.readSchema() });
    },

    describeQuery: async ({ queryId }, ctx) => {
      const query = await storedQuery(queryId, ctx);
      const described = await describe(query, ctx);
      await catalog.saveSignature(toSaved(query, described), ctx);
      return described;
    },

    checkQuery: async ({ compareTo, ...draft }, ctx) => {
      requirePrincipal(ctx);
      const [query, stored] = await Promise.all([
        catalog.resolveDraft(draft, ctx).then(toQueryDefinition),
        compareTo === undefined ? undefined : storedQuery(compareTo, ctx),
      ]);
      return checkQuery(query, stored, { describe: (one) => describe(one, ctx), compile });
    },
  };
}

interface UseOptions<T> extends Pick<SourceDeps, 'pools' | 'now' | 'deadlines' | 'timeoutMs'> {
  use(connection: Connection): Promise<T>;
}

async function withConnection<T>(
  source: SourceDefinition,
  ctx: CallContext,
  options: UseOptions<T>,
): Promise<T> {
  const { pools, now, deadlines, timeoutMs, use } = options;
  const { signal } = ctx;
  const deadlineAt = Math.min(ctx.deadlineAt, now() + timeoutMs);
  const pool = pools.pool(source);
  let lease: Lease | undefined;
  try {
    lease = await pool.acquire({ key: ctx.principal?.keyId ?? '', bytes: 0, deadlineAt, signal });
    const { connection } = lease;
    return await withCancellation(use(connection), { connection, signal, deadlineAt, now, deadlines });
  } catch (err) {
    throw toFailure(err, lease === undefined ? 'connect' : 'execute', identity);
  } finally {
    if (lease) pool.release(lease);
  }
}

function toSaved({ queryId, version, source }: QueryDefinition, described: DescribeQueryResponse) {
  const { settingsVersion } = source;
  return { queryId, version, settingsVersion, signatureJson: JSON.stringify(described) };
}
