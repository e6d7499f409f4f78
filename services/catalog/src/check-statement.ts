/** Compiles a statement with the executor's compiler when it is saved, and rejects it if it cannot run. */

import { joinSessions, parseSession } from '@datahub/contract/session-settings';
import { inStep, parseTransaction, type StoredStep } from '@datahub/contract/transactions';
import type { FieldPath } from '@datahub/contract/validation-error';
import type { QueryWarning } from '@datahub/proto/catalog/v1/catalog';
import { fieldError, HubError } from '@datahub/service-kit/call/error';
import { type CompiledStatement, compileStatement, unknownVariables } from '@datahub/statement/compile';
import { outsideOfTransaction } from '@datahub/statement/session';
import type { CheckStatement } from './query.ts';

export const checkStatement: CheckStatement = (checked, source, isNew) => {
  const { engine, command, query, context, cache } = checked;
  requireOwnSettings(checked.sessionJson, source?.sessionJson);
  if (checked.transactionJson !== undefined) return checkSteps(checked, source, isNew);
  const options = { dialect: engine, command, variables: context, pooling: source?.pooling, isNew };
  const compiled = compileStatement(query, options);
  if (compiled.kind === 'standalone' && (checked.sessionJson ?? source?.sessionJson) !== undefined)
    throw outsideOfTransaction();
  if (cache === undefined) return compiled.warnings();
  if (compiled.kind !== 'read')
    throw fieldError([{ path: ['cache'], detail: 'must be left out, because the query writes' }]);
  if (cache.validate === undefined) return compiled.warnings();
  const path = ['cache', 'validate'];
  if (engine === 'mongodb')
    throw fieldError([
      { path, detail: 'must be left out, because MongoDB cannot read both in one snapshot' },
    ]);
  const { validate } = cache;
  const fault = faultOf(() => compileStatement(validate, { ...options, command: 'SELECT' }), compiled);
  if (fault !== undefined) throw fieldError([{ path, detail: fault }]);
  return compiled.warnings();
};

/** Checks each step as a statement. Warnings name their step. */
function checkSteps(...[checked, source, isNew]: Parameters<CheckStatement>): QueryWarning[] {
  const { engine, context, cache } = checked;
  if (cache !== undefined)
    throw fieldError([{ path: ['cache'], detail: 'must be left out, because the query has steps' }]);
  const { steps } = parseTransaction(checked.transactionJson as string);
  const declared = new Set(context.map(({ key }) => key));
  const variables = [...context, ...undeclared(steps, declared)];
  return steps.flatMap(({ query, command = 'SELECT', references = {} }, i) => {
    const compiled = compileStep(i, () =>
      compileStatement(query, { dialect: engine, command, variables, pooling: source?.pooling, isNew }),
    );
    const fault = (detail: string, ...path: FieldPath) =>
      fieldError([{ path: ['steps', i, ...path], detail }]);
    if (compiled.kind === 'standalone')
      throw fault('runs outside of a transaction, as CALL and changes of tables do', 'query');
    const other = Object.keys(references).find((name) => !compiled.variables.includes(name));
    if (other !== undefined) throw fault('is not a variable of this step', 'references', other);
    return compiled.warnings().map((one) => ({ ...one, detail: inStep(i, one.detail) }));
  });
}

/** A variable that takes its value from another step is known to the text without a declaration. */
const undeclared = (steps: readonly StoredStep[], declared: ReadonlySet<string>) =>
  [...new Set(steps.flatMap(({ references = {} }) => Object.keys(references)))]
    .filter((key) => !declared.has(key))
    .map((key) => ({ key }));

/** Faults of the statement have the index of the step. */
function compileStep(step: number, compile: () => CompiledStatement): CompiledStatement {
  try {
    return compile();
  } catch (err) {
    if (!(err instanceof HubError)) throw err;
    const { code, message, cause, stage, retryable, sql } = err;
    throw new HubError(code, inStep(step, message), { cause, stage, retryable, sql, step });
  }
}

/** The warnings of statements that fail each time they run. */
const failing = new Set(['LOCKING_READ', 'WRITING_WITH']);

/** The most variables that a fault names. */
const namedMax = 5;

function faultOf(compile: () => CompiledStatement, query: CompiledStatement): string | undefined {
  try {
    const validate = compile();
    const found = validate.warnings().find(({ code }) => failing.has(code));
    if (found !== undefined)
      return `must only read, but locks rows or writes in line ${found.line}, column ${found.column}`;
    const others = unknownVariables(validate, query);
    if (others.length === 0) return undefined;
    const named = others.slice(0, namedMax).map((name) => `:${name}`);
    return `must use only variables that the query uses, but uses ${named.join(', ')}`;
  } catch (err) {
    if (!(err instanceof HubError)) throw err;
    return `must be a valid SELECT: ${err.message.replace(/\.$/, '')}`;
  }
}

/** Throws VALIDATION if the query sets what its source sets. */
export function requireOwnSettings(query: string | undefined, source: string | undefined): void {
  const { replaced } = joinSessions(parseSession(source), parseSession(query));
  const detail = 'is set by the source, and a query cannot replace it';
  if (replaced.length > 0)
    throw fieldError(replaced.map((member) => ({ path: ['session', ...member], detail })));
}
