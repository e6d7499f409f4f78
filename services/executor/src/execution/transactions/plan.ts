/** What a transaction will run: its queries, compiled and allowed, before anything is sent to the source. */

import { membersOf } from '@datahub/contract/json-text';
import { isIsolation, parseTransaction, transactionBounds } from '@datahub/contract/transactions';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { ExecuteOptions, ExecuteRequest, Step } from '@datahub/proto/executor/v1/executor';
import type { CallContext } from '@datahub/service-kit/call/call';
import { contextInvalid } from '@datahub/statement/values';
import type { QueryDefinition, SourceDefinition } from '../../definitions/definition.ts';
import type { Definitions } from '../../definitions/definition-cache.ts';
import type { TransactionOptions } from '../../ports/engine.ts';
import { keyLimits } from '../key-limits.ts';
import {
  type CompileQuery,
  type ExecutionLimits,
  leastOf,
  type PreparedQuery,
  refusedOption,
  requireAllowed,
  requireNamed,
  requireVersion,
  timeoutMsOf,
} from '../prepare.ts';
import { ofStep } from './step-error.ts';

export interface PlanDeps {
  definitions: Pick<Definitions, 'cached' | 'query' | 'hold'>;
  compile: CompileQuery;
  limits: ExecutionLimits;
}

/** What a step runs with unless something else is asked for. */
export const noOptions: ExecuteOptions = { dryRun: false, meta: false, numbersAsStrings: false };

export interface PlannedStep {
  step: Step;
  query: QueryDefinition;
  prepared: PreparedQuery;
  timeoutMs: number;
}

export interface Plan {
  source: SourceDefinition;
  steps: PlannedStep[];
  readOnly: boolean;
  isolation: TransactionOptions['isolation'];
  /** Of the whole. */
  timeoutMs: number;
}

/**
 * Rejects with the error of the first step that cannot run, or that the key may not run. `held`: receives what must be
 * disposed of once the plan is used no more.
 */
export async function planTransaction(
  request: ExecuteRequest,
  { ctx, principal, held }: Omit<Circumstances, 'before'>,
  deps: PlanDeps,
): Promise<Plan> {
  const { steps: given = [], isolation } = request.transaction ?? {};
  const { min, max } = transactionBounds.steps;
  if (given.length < min || given.length > max)
    throw refusedOption(`A transaction has ${min} to ${max} steps.`);
  if (isolation !== undefined && !isIsolation(isolation))
    throw refusedOption('There is no such isolation level.');
  const steps: PlannedStep[] = [];
  for (const [i, step] of given.entries()) {
    try {
      steps.push(await planStep(step, { ctx, principal, held, before: steps }, deps));
    } catch (err) {
      throw ofStep(err, i);
    }
  }
  const plan = toPlan(steps, isolation, request);
  steps.forEach(({ query, prepared }, i) => {
    // A transaction of MySQL that writes can write in each of its steps.
    const kind = plan.source.engine !== 'postgres' && !plan.readOnly ? 'write' : prepared.kind;
    try {
      requireAllowed(principal, query, kind);
    } catch (err) {
      throw ofStep(err, i);
    }
  });
  return plan;
}

function toPlan(
  steps: PlannedStep[],
  isolation: Plan['isolation'],
  { options }: Pick<ExecuteRequest, 'options'>,
): Plan {
  const { source } = (steps[0] as PlannedStep).query;
  const readOnly = steps.every(({ prepared }) => prepared.kind === 'read');
  const all = steps.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0);
  return { source, steps, readOnly, isolation, timeoutMs: options?.timeoutMs ?? all };
}

/**
 * What a query with steps will run. Whoever may run the query may run its steps. Each step gets the values of the call,
 * and the last one makes the answer, so it gets the options of the call, too.
 */
export function planStored(
  query: QueryDefinition,
  { steps = [] }: PreparedQuery,
  { request, limits }: { request: ExecuteRequest; limits: ExecutionLimits },
): Plan {
  const { options = noOptions, contextJson } = request;
  if (options.maxAffected !== undefined || options.allResults)
    throw refusedOption(
      'This query is a transaction. Its steps have their own maxAffected, and only the last one has a result. Leave out maxAffected and results.',
    );
  const { isolation } = parseTransaction(query.transactionJson as string);
  const timeoutMs = timeoutMsOf(query, undefined, limits);
  const planned = steps.map(({ stored, prepared }, i): PlannedStep => {
    const { as, references = {} } = stored;
    const { expectRows, maxAffected, maxRows } = stored.options ?? {};
    const own = i === steps.length - 1 ? options : undefined;
    const step: Step = {
      queryId: query.queryId,
      contextJson,
      options: { ...noOptions, ...own, maxAffected, maxRows: leastOf(maxRows, own?.maxRows) },
      expectRows,
      as,
      references: Object.entries(references).map(([variable, one]) => ({ variable, ...one })),
    };
    return { step, query, prepared, timeoutMs };
  });
  return toPlan(planned, isolation, request);
}

interface Circumstances {
  ctx: CallContext;
  principal: Principal;
  held: DisposableStack;
  before: readonly PlannedStep[];
}

async function planStep(
  step: Step,
  { ctx, principal, held, before }: Circumstances,
  { definitions, compile, limits }: PlanDeps,
): Promise<PlannedStep> {
  const query =
    definitions.cached(step.queryId, principal) ?? (await definitions.query(step.queryId, principal, ctx));
  held.use(definitions.hold(query));
  requireNamed(query, step.path);
  const prepared = compile(query);
  requireAllowed(principal, query, prepared.kind);
  keyLimits.user(principal, query, {
    names: prepared.names,
    usesClaim: (claim) => prepared.usesClaim(claim),
  });
  if (step.options !== undefined) requireVersion(query, step.options);
  const [first] = before;
  if (query.source.engine === 'mongodb')
    throw refusedOption('Queries of MongoDB cannot be part of a transaction.');
  if (prepared.kind === 'transaction')
    throw refusedOption('This query is a transaction itself, so it cannot be a step of one.');
  if (prepared.kind === 'standalone')
    throw refusedOption(
      'This statement runs outside of a transaction, as CALL and changes of tables do, so it cannot be part of one.',
    );
  if (first !== undefined && first.query.source.sourceId !== query.source.sourceId)
    throw refusedOption('All queries of a transaction must have the same source.');
  requireReferences(step, { prepared, before });
  return { step, query, prepared, timeoutMs: timeoutMsOf(query, undefined, limits) };
}

function requireReferences(
  { references, contextJson, as: name }: Step,
  { prepared, before }: { prepared: PreparedQuery; before: readonly PlannedStep[] },
): void {
  const fault = (variable: string, detail: string) =>
    contextInvalid([{ path: ['references', variable], detail }]);
  if (name !== undefined && before.some(({ step }) => step.as === name))
    throw contextInvalid([{ path: ['as'], detail: 'is already the name of another step' }]);
  const given = contextJson === '' || references.length === 0 ? undefined : membersOf(contextJson);
  for (const { variable, from } of references) {
    if (!prepared.names.includes(variable)) throw fault(variable, 'is not a variable of this query');
    if (given?.has(variable)) throw fault(variable, 'is also in context');
    if (!before.some(({ step }) => step.as === from)) throw fault(variable, 'must name an earlier step');
  }
}
