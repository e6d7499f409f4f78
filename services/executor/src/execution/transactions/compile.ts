/** Compiles stored queries: those of one statement, and those with steps. */

import { inStep, parseTransaction } from '@datahub/contract/transactions';
import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import type { DescribedVariable } from '@datahub/proto/executor/v1/executor';
import type { SqlFault } from '@datahub/service-kit/call/error';
import type { ColumnFacts, StatementWarning } from '@datahub/statement/compile';
import { declare, resolveValues } from '@datahub/statement/values';
import type { QueryDefinition } from '../../definitions/definition.ts';
import {
  type CallValues,
  type CompileQuery,
  compileQuery,
  type DescribableForm,
  type PreparedQuery,
  type PreparedStep,
  withVariables,
} from '../prepare.ts';
import { ofStep } from './step-error.ts';

export const compileStored: CompileQuery = (definition) =>
  definition.transactionJson === undefined ? compileQuery(definition) : compileSteps(definition);

function compileSteps(definition: QueryDefinition): PreparedQuery {
  const { steps } = parseTransaction(definition.transactionJson as string);
  const referenced = steps.flatMap(({ references = {} }) => Object.keys(references));
  const variables = withVariables(definition.variables, [...new Set(referenced)]);
  const compile = (text: string, command: string, i: number) => {
    const { cache: _, ...rest } = definition;
    // Each step is prepared under a name of its own.
    const queryId = `${definition.queryId}.step${i}`;
    const step = { ...rest, queryId, text, command, variables, notNull: [], transactionJson: undefined };
    try {
      return compileQuery(step);
    } catch (err) {
      throw ofStep(err, i);
    }
  };
  const prepared = steps.map((stored, i) => ({
    stored,
    prepared: compile(stored.query, stored.command ?? 'SELECT', i),
  }));
  return new CompiledSteps(prepared, definition.variables);
}

/** Thrown once the values are checked, so that executions of other queries need not ask whether they have steps. */
export class BoundBySteps extends Error {}

class CompiledSteps implements PreparedQuery {
  readonly kind = 'transaction';
  readonly uncounted = false;
  /** Of the variables that callers set. */
  readonly names: readonly string[];
  readonly steps: readonly PreparedStep[];
  readonly #declared: readonly Variable[];

  constructor(steps: readonly PreparedStep[], declared: readonly Variable[]) {
    this.steps = steps;
    this.#declared = declared;
    const own = steps.flatMap(({ stored: { references = {} }, prepared }) =>
      prepared.names.filter((name) => !Object.hasOwn(references, name)),
    );
    this.names = [...new Set(own)];
  }

  usesClaim(path: string): boolean {
    return this.steps.some(({ prepared }) => prepared.usesClaim(path));
  }

  /** Checks the values of all steps. Each step binds its own when it runs. */
  bind(values: CallValues): never {
    const declared = new Map(this.#declared.map((one) => [one.key, one]));
    const declarations = this.names.map((name) => declare(name, declared.get(name)));
    resolveValues(declarations, values, new Set([...this.names, ...declared.keys()]));
    throw new BoundBySteps();
  }

  /** Its steps are described one by one, as are their columns and variables. */
  describable(): DescribableForm[] {
    return [];
  }

  columnFacts(): ColumnFacts {
    return (this.steps.at(-1) as PreparedStep).prepared.columnFacts();
  }

  variables(): DescribedVariable[] {
    return [];
  }

  warnings(): StatementWarning[] {
    return this.steps.flatMap(({ prepared }, i) =>
      prepared.warnings().map((one) => ({ ...one, detail: inStep(i, one.detail) })),
    );
  }

  /** Steps map theirs. */
  mapLocation(fault: SqlFault): SqlFault {
    return fault;
  }

  readonly nameVariables = (message: string): string => message;
}

/** The variables of each step, with those of the steps whose answers it takes. */
export function namesByStep(steps: readonly PreparedStep[]): (readonly string[])[] {
  const known = new Map<string, readonly string[]>();
  return steps.map(({ stored: { as, references = {} }, prepared }) => {
    const taken = Object.values(references).flatMap(({ from }) => known.get(from) ?? []);
    const names = [...prepared.names, ...taken];
    if (as !== undefined) known.set(as, names);
    return names;
  });
}
