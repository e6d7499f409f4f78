/** What a key may do with a query, and which limits hold for the execution. */

import { isGranted } from '@datahub/contract/scopes';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { ExecuteOptions } from '@datahub/proto/executor/v1/executor';
import { HubError } from '@datahub/service-kit/call/error';
import type { QueryDefinition } from '../definitions/definition-cache.ts';
import type { RunOptions, Statement } from '../engine.ts';
import type { PreparedQuery } from './compiled-query.ts';

export interface ExecutionLimits {
  /** Where the source says nothing of its own. */
  statementTimeoutMs: number;
  /** Rows of one answer; 0 for no bound. */
  rowsMax: number;
}

/** Writes need a scope of their own, and only the compiled text tells what a query does. Throws SCOPE_DENIED. */
export function requireAllowed(principal: Principal, query: QueryDefinition, kind: Statement['kind']): void {
  const scope = kind === 'read' ? 'queries:execute' : 'queries:execute:write';
  if (!isGranted(principal.scopes, scope)) {
    throw new HubError('SCOPE_DENIED', `This needs a key with the scope ${scope}.`);
  }
  requireWithinLimits(principal, query);
}

/** What the key was narrowed to. Throws SCOPE_DENIED. */
export function requireWithinLimits({ limits }: Principal, query: QueryDefinition): void {
  if (limits === undefined) return;
  if (limits.queryIds.length > 0 && !limits.queryIds.includes(query.queryId)) {
    throw new HubError('SCOPE_DENIED', 'This key may not use this query.');
  }
  if (limits.hubIds.length > 0 && !limits.hubIds.includes(query.hubId)) {
    throw new HubError('SCOPE_DENIED', 'This key may not use this hub.');
  }
}

/** The time an execution may take; a caller can only lower it. Throws OPTION_REFUSED for none at all. */
export function timeoutMsOf(
  query: QueryDefinition,
  asked: ExecuteOptions | undefined,
  limits: ExecutionLimits,
): number {
  if (asked?.timeoutMs === 0) throw refusedOption('A timeoutMs of 0 leaves no time to run. Give at least 1.');
  const inForceMs = query.source.statementTimeoutMs ?? limits.statementTimeoutMs;
  return Math.min(asked?.timeoutMs ?? inForceMs, inForceMs);
}

/** The server's own time-out comes after ours, so that ours decides and tells. */
const secondNetMs = 1_000;

/** Two digits and zeros, so that a connection is told a new time-out rarely, however finely callers choose theirs. */
function roundUp(timeoutMs: number): number {
  const unit = 10 ** (Math.floor(Math.log10(timeoutMs)) - 1);
  return Math.ceil(timeoutMs / unit) * unit;
}

/** Throws OPTION_REFUSED for what the statement cannot do. */
export function runOptionsOf(
  asked: ExecuteOptions | undefined,
  { kind, uncounted }: Pick<PreparedQuery, 'kind' | 'uncounted'>,
  { timeoutMs, rowsMax }: { timeoutMs: number; rowsMax: number | undefined },
): RunOptions {
  const options: RunOptions = { statementTimeoutMs: roundUp(timeoutMs + secondNetMs) };
  const rows = leastOf(asked?.maxRows, rowsMax);
  if (rows !== undefined) options.maxRows = rows;
  if (asked === undefined || kind === 'read') return options;
  if (kind === 'standalone' && (asked.dryRun || asked.maxAffected !== undefined)) {
    throw refusedOption(
      'This statement runs outside of a transaction, so dryRun and maxAffected cannot roll it back. Leave them out.',
    );
  }
  if (uncounted && asked.maxAffected !== undefined) {
    throw refusedOption(
      'A WITH of this statement writes, and the database does not count the rows of that, so maxAffected would not hold. Leave it out, or write in the main statement alone.',
    );
  }
  if (asked.dryRun) options.dryRun = true;
  if (asked.maxAffected !== undefined) options.maxAffected = asked.maxAffected;
  return options;
}

const refusedOption = (message: string) =>
  new HubError('OPTION_REFUSED', message, { stage: 'prepare', retryable: false });

/** The lower of what caller, key and setting allow; undefined when none bounds it. */
export function leastOf(...bounds: (number | undefined)[]): number | undefined {
  let least: number | undefined;
  for (const bound of bounds)
    if (bound !== undefined && (least === undefined || bound < least)) least = bound;
  return least;
}
