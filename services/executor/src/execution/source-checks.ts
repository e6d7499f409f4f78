/** Asks a source about itself. Like every execution it goes through the pool, so all its bounds and pauses hold. */

import type { Executor } from '@datahub/executor-session/executor';
import { type CallContext, requirePrincipal } from '@datahub/service-kit/call/call';
import type { Definitions, SourceDefinition } from '../definitions/definition-cache.ts';
import type { Connection } from '../engine.ts';
import type { PoolRegistry } from '../pool/pool-registry.ts';
import type { Lease } from '../pool/pool-types.ts';
import { untilStopped } from './cancellation.ts';
import { asItIs, toFailure } from './execution-error.ts';

export interface SourceDeps {
  definitions: Pick<Definitions, 'source'>;
  pools: Pick<PoolRegistry<SourceDefinition>, 'pool'>;
  now: () => number;
  /** Bounds one question, however long the caller would wait. */
  timeoutMs: number;
}

const stopGraceMs = 800;

export function createSourceCalls(deps: SourceDeps): Pick<Executor, 'testSource' | 'readSchema'> {
  const { definitions, now } = deps;
  return {
    testSource: async ({ sourceId }, ctx) => {
      requirePrincipal(ctx);
      const source = await definitions.source(sourceId, ctx);
      const startedAt = now();
      return askSource(source, ctx, {
        ...deps,
        ask: async (connection) => {
          await connection.ping();
          return { latencyMs: now() - startedAt, serverVersion: connection.serverVersion };
        },
      });
    },

    readSchema: async ({ sourceId }, ctx) => {
      requirePrincipal(ctx);
      const source = await definitions.source(sourceId, ctx);
      return askSource(source, ctx, {
        ...deps,
        ask: (connection) => connection.readSchema(),
      });
    },
  };
}

export interface AskOptions<T> extends Pick<SourceDeps, 'pools' | 'now' | 'timeoutMs'> {
  ask(connection: Connection): Promise<T>;
}

/** Has a connection of the source answer one question, within the time allowed. */
export async function askSource<T>(
  source: SourceDefinition,
  ctx: CallContext,
  options: AskOptions<T>,
): Promise<T> {
  const { pools, now, timeoutMs, ask } = options;
  const { signal } = ctx;
  const deadlineAt = Math.min(ctx.deadlineAt, now() + timeoutMs);
  const pool = pools.pool(source);
  let lease: Lease | undefined;
  try {
    lease = await pool.acquire({ key: ctx.principal?.keyId ?? '', deadlineAt, signal });
    const { connection } = lease;
    return await untilStopped(ask(connection), { connection, signal, deadlineAt, now, graceMs: stopGraceMs });
  } catch (err) {
    throw toFailure(err, lease === undefined ? 'connect' : 'execute', asItIs);
  } finally {
    if (lease) pool.release(lease);
  }
}
