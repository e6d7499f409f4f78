/** Executes a stored query: authorizes the call, resolves the query, binds the values, runs it and sends the rows. */

import { membersOf } from '@datahub/contract/json-text';
import { cutText } from '@datahub/contract/limits';
import { describeFaults, fieldName } from '@datahub/contract/validation-error';
import { type Executor, Rerouted } from '@datahub/executor-session/executor';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { ExecuteRequest } from '@datahub/proto/executor/v1/executor';
import { type CallContext, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import { turnForText } from '@datahub/service-kit/yield-to-loop';
import type { Catalog, QueryDefinition, SourceDefinition } from '../definitions/definition.ts';
import { type Definitions, defaultCharactersOf } from '../definitions/definition-cache.ts';
import type { PoolRegistry } from '../pool/pool-registry.ts';
import { CachedExecution, type CacheEvents, isCacheable } from './cached/cached-execution.ts';
import type { ResponseStore } from './cached/response-store.ts';
import { draftTimeoutMs, requireMayTry, resolveDraft, runDraft } from './draft.ts';
import { toFailure } from './execution-error.ts';
import { Execution } from './execution-state.ts';
import { claimedNames, keyLimits } from './key-limits.ts';
import { createLoads } from './loads/load.ts';
import {
  type CompileQuery,
  type ExecutionLimits,
  leastOf,
  type PreparedQuery,
  requireAllowed,
  requireFittingFormat,
  requireNamed,
  requireReading,
  requireVersion,
  runOptionsOf,
  timeoutMsOf,
} from './prepare.ts';
import { type RunDeps, runOn, type StatementRun } from './run-statement.ts';
import { CommitNotes } from './transactions/commit-notes.ts';
import { BoundBySteps, namesByStep } from './transactions/compile.ts';
import { createTransactions, type Transactions } from './transactions/transaction.ts';
import { createContextOfForm, requireRead } from './url-values.ts';

export interface ExecuteDeps extends RunDeps {
  definitions: Pick<Definitions, 'cached' | 'query' | 'hold'>;
  catalog: Pick<Catalog, 'resolveDraft' | 'noteCommit'>;
  pools: Pick<PoolRegistry<SourceDefinition>, 'pool'>;
  compile: CompileQuery;
  limits: ExecutionLimits;
  /** The cached answers of queries that have a cache. */
  answers: ResponseStore;
  events: CacheEvents & {
    failed(execution: Execution, err: HubError): void;
  };
  tracing?: Tracing | undefined;
  now: () => number;
  random: () => number;
}

export function createExecute(deps: ExecuteDeps): Executor['execute'] {
  const transactions = createTransactions(deps);
  const executeOne = createExecuteOne(deps, transactions);
  const load = createLoads(deps);
  return (request, ctx, reply) => {
    reply.notesCommit?.();
    if (request.transaction !== undefined) return transactions.execute(request, ctx, reply);
    return request.load === undefined ? executeOne(request, ctx, reply) : load(request, ctx, reply);
  };
}

function createExecuteOne(deps: ExecuteDeps, { executeStored }: Transactions): Executor['execute'] {
  const { definitions, pools, compile, limits, now } = deps;
  const cached = new CachedExecution(deps);
  const contextOfForm = createContextOfForm();
  return async (request, ctx, reply) => {
    const execution = new Execution(request, ctx, { reply, now, tracing: deps.tracing });
    try {
      const principal = requirePrincipal(ctx);
      const { form, draft } = request;
      const query =
        draft !== undefined
          ? await resolveDraft(draft, ctx, deps.catalog)
          : (definitions.cached(request.queryId, principal) ??
            (await definitions.query(request.queryId, principal, callOf(execution))));
      using _held = definitions.hold(query);
      requireNamed(query, request.path);
      execution.stage = 'prepare';
      const prepared = compile(query);
      if (request.tellSource) reply.source?.(query.source.sourceId, prepared.kind === 'read');
      const timeoutMs = timeoutMsOf(query, request.options, limits);
      execution.onPrepared(query, prepared, draft ? draftTimeoutMs(draft, timeoutMs) : timeoutMs);
      requirePermission(principal, request, { query, prepared });
      requireFit(execution, request, { query, prepared });
      const options = runOptionsOf(request.options, prepared, {
        // The database's own timeout also counts the time in which the client reads.
        timeoutMs: Math.max(execution.timeoutMs, deps.transfer.timeoutMs, longestOf(request, ctx, now)),
        format: execution.format,
        rowsMax: leastOf(keyLimits.maxRows(principal.limits), limits.rowsMax || undefined),
      });
      const pinnedJson = keyLimits.context(principal.limits);
      if (form) execution.formContextJson = contextOfForm(form, { query, prepared, pinnedJson });
      const contextJson = execution.formContextJson ?? request.contextJson;
      await turnForText(contextJson.length + defaultCharactersOf(query));
      const scalarsAsLists = claimedNames(principal);
      const statement = prepared.bind({
        pinnedJson,
        contextJson,
        scalarsAsLists,
        claimsJson: principal.user?.claimsJson,
        strict: request.options?.strict || keyLimits.strict(principal.limits),
        onUnknown: (names) => reply.unknownContext?.(toHeaderText(names)),
      });
      execution.statement = statement;
      const isCached = query.cache !== undefined && deps.answers.isOn && isCacheable(request, prepared);
      if (request.checkOnly || (form?.checkOnly && !isCached)) return execution.span?.end({});
      const run = {
        pool: pools.pool(query.source),
        statement,
        options,
        key: principal.keyId,
        bytes: request.contextJson.length,
        deps,
        ...commitOf(execution, { query, prepared }, deps),
      };
      if (isCached) {
        const { claimsJson } = principal.user ?? {};
        const values = { pinnedJson, contextJson, scalarsAsLists, claimsJson };
        return await cached.execute(execution, { ...run, values });
      }
      await (draft === undefined ? runOn(execution, run) : runDraft(execution, run, draft));
      deps.events.executed(execution);
    } catch (err) {
      if (err instanceof Rerouted) throw err;
      if (err instanceof BoundBySteps) return await executeStored(execution);
      const failure = toFailure(execution.causeOf(err), execution.stage, execution);
      deps.events.failed(execution, failure);
      throw failure;
    }
  };
}

const callOf = ({ ctx: { signal }, traceparent }: Execution) => ({ signal, traceparent });

/** The time that a call may take which only needs rows from time to time. */
const longestOf = (
  { timeoutWithoutRows }: ExecuteRequest,
  { deadlineAt }: Pick<CallContext, 'deadlineAt'>,
  now: () => number,
): number => (timeoutWithoutRows ? deadlineAt - now() : 0);

interface Asked {
  query: QueryDefinition;
  prepared: PreparedQuery;
}

/** How the answer to the COMMIT of a write is found out if it is lost. */
function commitOf(
  { request, ctx }: Execution,
  { query, prepared }: Asked,
  deps: ExecuteDeps,
): Pick<StatementRun, 'findsCommit' | 'notes'> {
  const { findsCommit, operation } = request;
  if (prepared.kind !== 'write' || !findsCommit) return {};
  const { sourceId } = query.source;
  return { findsCommit, notes: operation && new CommitNotes(operation, { ...deps, ctx, sourceId }) };
}

/** Throws if the key may not do this. */
function requirePermission(principal: Principal, request: ExecuteRequest, { query, prepared }: Asked): void {
  const { form, draft } = request;
  requireAllowed(principal, query, form === undefined ? prepared.kind : 'read');
  const usesClaim = (path: string) => prepared.usesClaim(path);
  if (prepared.steps === undefined) keyLimits.user(principal, query, { names: prepared.names, usesClaim });
  else
    namesByStep(prepared.steps).forEach((names, i) => {
      keyLimits.user(principal, query, { subject: `Step ${i + 1}`, names, usesClaim });
    });
  if (draft !== undefined) requireMayTry(principal, request, { query, prepared });
}

/** Throws if the query cannot be run as the request asks. */
function requireFit({ format }: Execution, request: ExecuteRequest, { query, prepared }: Asked): void {
  if (request.form !== undefined) requireRead(prepared);
  if (request.refusesSecrets) requireNoSecrets(query, request.contextJson);
  if (request.options !== undefined) requireVersion(query, request.options);
  requireReading(request, prepared);
  requireFittingFormat(format, request, query);
}

/** Throws VALIDATION for values of secret variables, also of those that the key pins. */
function requireNoSecrets({ variables }: QueryDefinition, contextJson: string): void {
  const sent = contextJson === '' ? new Map() : membersOf(contextJson);
  const detail = 'is secret, so its value may be neither in an address nor stored; a key can pin it';
  const errors = variables.flatMap(({ key, secret }) =>
    secret && sent.has(key) ? [{ path: ['context', key], detail }] : [],
  );
  if (errors.length === 0) return;
  const message = describeFaults(errors, ({ path }) => fieldName(path));
  throw new HubError('VALIDATION', message, { errors, stage: 'prepare', retryable: false });
}

const namesMax = 10;
const bytesMax = 1_024;

/** Percent-encoded, separated by commas, as many as fit; then the number of the others, as in `limt,regoin,+3`. */
export function toHeaderText(names: readonly string[]): string {
  const shown: string[] = [];
  // A character takes up to 9 bytes. Leave room for the count.
  let bytesLeft = bytesMax - `,+${names.length}`.length;
  for (const name of names.slice(0, namesMax)) {
    const text = encodeURIComponent(cutText(name, bytesMax).toWellFormed());
    bytesLeft -= text.length + 1;
    if (bytesLeft < 0) break;
    shown.push(text);
  }
  const more = names.length - shown.length;
  return [...shown, ...(more > 0 ? [`+${more}`] : [])].join(',');
}
