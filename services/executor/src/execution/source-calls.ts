/**
 * Calls about a source: test the connection, read its tables, and describe a query. They use the pool as executions do,
 * so all its limits apply.
 */

import { joinSessions, parseSession } from '@datahub/contract/session-settings';
import type { Executor } from '@datahub/executor-session/executor';
import type { DescribeQueryResponse, DiffRequest } from '@datahub/proto/executor/v1/executor';
import { type CallContext, type Deadlines, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { FairSemaphore } from '@datahub/service-kit/fair-semaphore';
import { createLoopYield } from '@datahub/service-kit/yield-to-loop';
import type { Catalog, QueryDefinition, SourceDefinition } from '../definitions/definition.ts';
import type { Definitions } from '../definitions/definition-cache.ts';
import type { PoolRegistry } from '../pool/pool-registry.ts';
import type { Lease } from '../pool/pool-types.ts';
import type { Connection } from '../ports/engine.ts';
import { withCancellation } from './cancellation.ts';
import { checkQuery, statementFaults } from './check.ts';
import { describeQuery, describeTransaction } from './describe.ts';
import { resolveDraft } from './draft.ts';
import type { DriftWatch } from './drift-watch.ts';
import { cancelReason, identity, toFailure } from './execution-error.ts';
import { keyLimits } from './key-limits.ts';
import {
  type CompileQuery,
  type DescribableForm,
  leastOf,
  requireAllowed,
  requireWithinLimits,
} from './prepare.ts';
import { diffQueries } from './row-diff.ts';
import type { Pause } from './row-key.ts';
import type { RunDeps } from './run-statement.ts';
import { policyProblems, variableProblems } from './session-problems.ts';
import { detailOf } from './transactions/step-error.ts';
import { Turn } from './turn.ts';

export interface SourceDeps {
  /** See `DriftWatch`. Undefined for what never checks a whole source. */
  checked?: DriftWatch['checked'] | undefined;
  definitions: Pick<Definitions, 'source' | 'query' | 'hold'>;
  pools: Pick<PoolRegistry<SourceDefinition>, 'pool'>;
  catalog: Pick<Catalog, 'saveSignature' | 'resolveDraft' | 'takeSourceCheck'>;
  compile: CompileQuery;
  now: () => number;
  /** The wall-clock time. */
  nowMs: () => number;
  deadlines: Deadlines;
  /** The time limit of one call, even if the caller's deadline is later. */
  timeoutMs: number;
  createWriter: RunDeps['createWriter'];
  /** The most rows of one answer; 0 for no limit. */
  rowsMax: number;
  diffs: FairSemaphore;
  schemas: FairSemaphore;
}

/** The time limit of the suggestion. If it takes longer, the test of the source still succeeds. */
const suggestionTimeoutMs = 2_000;

export function createSourceCalls(
  deps: SourceDeps,
): Pick<Executor, 'testSource' | 'readSchema' | 'describeQuery' | 'checkQuery' | 'checkSource'> {
  const { definitions, catalog, now } = deps;
  const describer = createDescriber(deps);
  const storedQuery = async (queryId: string, ctx: CallContext): Promise<QueryDefinition> => {
    const principal = requirePrincipal(ctx);
    const query = await definitions.query(queryId, principal, ctx);
    requireWithinLimits(principal, query);
    return query;
  };
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
      return readSchema(await definitions.source(sourceId, ctx), ctx, deps);
    },

    describeQuery: async ({ queryId }, ctx) => {
      return describer.save(await storedQuery(queryId, ctx), ctx);
    },

    checkSource: async ({ sourceId }, ctx) => {
      requirePrincipal(ctx);
      const { engine } = await definitions.source(sourceId, ctx);
      const { queryIds } = await catalog.takeSourceCheck({ sourceId }, ctx);
      if (engine === 'mongodb') return { checked: 0, brokenQueryIds: [], left: 0 };
      const check = async (queryId: string): Promise<boolean | undefined> => {
        const query = await storedQuery(queryId, ctx).catch(toUnreadable);
        return query && describer.check(query, ctx);
      };
      return checkAll({ sourceId, queryIds, check }, ctx, deps);
    },

    checkQuery: async ({ compareTo, diff, ...draft }, ctx) => {
      const principal = requirePrincipal(ctx);
      const [resolved, stored] = await Promise.all([
        resolveDraft(draft, ctx, catalog),
        compareTo === undefined ? undefined : storedQuery(compareTo, ctx),
      ]);
      const query = stored === undefined ? resolved : unlessNew(resolved, stored);
      using _held = definitions.hold(query);
      const described = {
        describe: (one: QueryDefinition) => describer.describe(one, ctx),
        compile: deps.compile,
        sessionProblems: (one: QueryDefinition) => sessionProblems(one, ctx, deps),
      };
      const checked = await checkQuery(query, stored, described);
      if (diff === undefined || stored === undefined || checked.changes === undefined) return checked;
      requireAllowed(principal, stored, 'read');
      return { ...checked, diff: await diffRows([stored, query], diff, { ...deps, ctx }) };
    },
  };
}

interface SourceQueries {
  sourceId: string;
  queryIds: string[];
  check(queryId: string): Promise<boolean | undefined>;
}

async function checkAll({ sourceId, queryIds, check }: SourceQueries, ctx: CallContext, deps: SourceDeps) {
  const { now, catalog, checked } = deps;
  const until = Math.min(ctx.deadlineAt, now() + checkMsMax) - answerMs;
  const found = await checkUntil(until, { queryIds, check, now });
  if (found.checked < queryIds.length) return found;
  // A round would find the same.
  const { takenAt } = await catalog.takeSourceCheck({ sourceId, everyMs: 0 }, ctx);
  checked?.(sourceId, found.brokenQueryIds.length, takenAt);
  return found;
}

/** A draft of the text that is stored already. It may be longer than a new one. */
const unlessNew = (draft: QueryDefinition, { text, queryId }: QueryDefinition): QueryDefinition =>
  draft.text === text ? { ...draft, queryId } : draft;

async function sessionProblems(query: QueryDefinition, ctx: CallContext, deps: SourceDeps) {
  if (query.sessionJson === undefined && query.source.sessionJson === undefined) return [];
  const { session } = joinSessions(parseSession(query.source.sessionJson), parseSession(query.sessionJson));
  const prepared = deps.compile(query);
  const use = (connection: Connection) => policyProblems(connection, prepared, { ...deps, session });
  return [...variableProblems(session), ...(await withConnection(query.source, ctx, { ...deps, use }))];
}

/**
 * Checks queries one after another until a moment of `now`. `check` resolves to false for a broken query, and to nothing
 * for one that the caller may not read, which does not count.
 */
async function checkUntil(
  until: number,
  {
    queryIds,
    check,
    now,
  }: { queryIds: string[]; check(queryId: string): Promise<boolean | undefined>; now(): number },
) {
  const found = { checked: 0, brokenQueryIds: [] as string[], left: 0 };
  for (const [i, queryId] of queryIds.entries()) {
    if (now() > until) return { ...found, left: queryIds.length - i };
    const isWorking = await check(queryId);
    if (isWorking === false) found.brokenQueryIds.push(queryId);
    if (isWorking !== undefined) found.checked++;
  }
  return found;
}

async function diffRows(
  queries: [before: QueryDefinition, after: QueryDefinition],
  { valuesJson }: DiffRequest,
  deps: SourceDeps & { ctx: CallContext },
) {
  const { ctx, timeoutMs, rowsMax, now } = deps;
  const { limits } = requirePrincipal(ctx);
  using turn = new Turn({ ...deps, turns: deps.diffs, what: 'comparisons of rows' });
  return await diffQueries(queries, {
    ...deps,
    valuesJson,
    strict: keyLimits.strict(limits),
    timeoutMs,
    rowsMax: leastOf(keyLimits.maxRows(limits), rowsMax || undefined),
    signal: turn.signal,
    pause: createPause({ signal: turn.signal, deadlineAt: ctx.deadlineAt }, now),
    withConnection: (use) => withConnection(queries[1].source, ctx, { ...deps, turn, use }),
  });
}

async function readSchema(source: SourceDefinition, ctx: CallContext, deps: SourceDeps) {
  using turn = new Turn({ ...deps, turns: deps.schemas, what: 'reads of schemas', ctx });
  const use = (connection: Connection) => connection.readSchema();
  return await withConnection(source, ctx, { ...deps, turn, use });
}

function createPause(
  { signal, deadlineAt }: Pick<CallContext, 'signal' | 'deadlineAt'>,
  now: () => number,
): Pause {
  const endOfTurn = createLoopYield();
  return () =>
    endOfTurn()?.then(() => {
      const isLate = now() >= deadlineAt;
      if (isLate || signal.aborted) throw cancelReason(signal, isLate);
    });
}

/** The most time for the check of a source, and the part of it that is left for the answer. */
const checkMsMax = 30_000;
const answerMs = 500;

/** Returns undefined for a query that was deleted meanwhile, that has no source, or that the key may not use. */
function toUnreadable(err: unknown): undefined {
  if (err instanceof HubError && ['NOT_FOUND', 'SOURCE_GONE', 'SCOPE_DENIED'].includes(err.code)) return;
  throw err;
}

export interface Describer {
  describe(query: QueryDefinition, ctx: CallContext): Promise<DescribeQueryResponse>;
  /** Also saves what the source said. */
  save(query: QueryDefinition, ctx: CallContext): Promise<DescribeQueryResponse>;
  /** The same; resolves to false if the source rejects the query. */
  check(query: QueryDefinition, ctx: CallContext): Promise<boolean>;
}

/** `background`: using a connection does not count as using the source. */
export function createDescriber(deps: SourceDeps, { background = false } = {}): Describer {
  const { catalog, compile, definitions, nowMs } = deps;
  const describe: Describer['describe'] = async (query, ctx) => {
    using _held = definitions.hold(query);
    const prepared = compile(query);
    const asked = {
      nowMs,
      describe: (form: DescribableForm) =>
        withConnection(query.source, ctx, {
          ...deps,
          background,
          use: (connection) => connection.describe(form),
        }),
    };
    return prepared.steps === undefined
      ? describeQuery(prepared, query, asked)
      : describeTransaction(prepared.steps, query, asked);
  };
  const save: Describer['save'] = async (query, ctx) => {
    const { queryId, version } = query;
    const { settingsVersion } = query.source;
    const saved = { queryId, version, settingsVersion, signatureJson: '' };
    try {
      const described = await describe(query, ctx);
      await catalog.saveSignature({ ...saved, signatureJson: toSignatureJson(described) }, ctx);
      return described;
    } catch (err) {
      if (isRejection(err)) await catalog.saveSignature({ ...saved, problemJson: toProblemJson(err) }, ctx);
      throw err;
    }
  };
  const check: Describer['check'] = async (query, ctx) => {
    try {
      await save(query, ctx);
      return true;
    } catch (err) {
      if (isRejection(err)) return false;
      // The columns are unknown before the statement runs.
      if (err instanceof HubError && err.code === 'OPTION_REFUSED') return true;
      throw err;
    }
  };
  return { describe, save, check };
}

const isRejection = (err: unknown): err is HubError =>
  err instanceof HubError && statementFaults.has(err.code) && err.retryable !== true;

const toProblemJson = (err: HubError): string =>
  JSON.stringify({
    code: err.code,
    detail: detailOf(err),
    ...(err.sql === undefined ? {} : { sql: err.sql }),
  });

interface UseOptions<T> extends Pick<SourceDeps, 'pools' | 'now' | 'deadlines' | 'timeoutMs'> {
  background?: boolean;
  /** Begins before there is a connection, so that those who wait for their turn hold none. */
  turn?: Turn;
  use(connection: Connection): Promise<T>;
}

async function withConnection<T>(
  source: SourceDefinition,
  ctx: CallContext,
  options: UseOptions<T>,
): Promise<T> {
  const { pools, now, deadlines, timeoutMs, turn, use, background = false } = options;
  const waitedMs = (await turn?.begin()) ?? 0;
  const signal = turn?.signal ?? ctx.signal;
  const endsAt = now() + timeoutMs;
  const deadlineAt = Math.min(ctx.deadlineAt, endsAt);
  const pool = pools.pool(source);
  let lease: Lease | undefined;
  try {
    lease = await pool.acquire({ key: ctx.principal?.keyId ?? '', bytes: 0, deadlineAt, signal, background });
    const { connection } = lease;
    return await withCancellation(use(connection), { connection, signal, deadlineAt, now, deadlines });
  } catch (err) {
    const failure = toFailure(err, lease === undefined ? 'connect' : 'execute', identity);
    const isCutShort = ctx.deadlineAt < endsAt && ctx.deadlineAt + waitedMs >= endsAt;
    throw turn && isCutShort && failure.code === 'STATEMENT_TIMEOUT' ? turn.tookTheTime(failure) : failure;
  } finally {
    if (lease) pool.release(lease);
  }
}

/** As in answers. */
const toSignatureJson = (described: DescribeQueryResponse): string =>
  JSON.stringify(described, (name, value) => (name === 'labels' ? value?.values : value));
