/**
 * Checks a query that is not stored: describes it at its source, and compares its contract with that of a stored query.
 */

import type {
  CheckQueryResponse,
  DescribeQueryResponse,
  QueryProblem,
} from '@datahub/proto/executor/v1/executor';
import { type ErrorCode, HubError } from '@datahub/service-kit/call/error';
import { turnFor } from '@datahub/service-kit/yield-to-loop';
import type { QueryDefinition } from '../definitions/definition.ts';
import { type Contract, contractChanges } from './contract-changes.ts';
import type { CompileQuery } from './prepare.ts';
import { detailOf } from './transactions/step-error.ts';

interface CheckDeps {
  describe(query: QueryDefinition): Promise<DescribeQueryResponse>;
  compile: CompileQuery;
  /** What the source says of the session of the draft. */
  sessionProblems(query: QueryDefinition): Promise<QueryProblem[]>;
}

/** Codes of faults in the statement itself. */
export const statementFaults = new Set<ErrorCode>(['SQL_REJECTED', 'COMMAND_MISMATCH']);

/** Rejects if a source cannot be reached. */
export async function checkQuery(
  draft: QueryDefinition,
  stored: QueryDefinition | undefined,
  { describe, compile, sessionProblems }: CheckDeps,
): Promise<CheckQueryResponse> {
  const [found, compared] = await Promise.all([
    attempt(draft, describe),
    stored === undefined ? undefined : attempt(stored, describe),
  ]);
  await turnFor(columnsOf(found) + columnsOf(compared));
  const changes =
    stored === undefined || compared?.signature === undefined || found.signature === undefined
      ? undefined
      : contractChanges(
          contractOf(stored, compared.signature, compile),
          contractOf(draft, found.signature, compile),
        );
  const faults = [
    ...(found.fault === undefined ? [] : [found.fault]),
    ...brokenContract(draft, found.signature),
  ];
  const ofSession = found.fault === undefined ? await sessionProblems(draft) : [];
  return {
    signature: found.signature,
    problems: [...faults.map(toProblem), ...warningsOf(draft, compile), ...ofSession],
    changes: changes && { changes },
  };
}

const contractOf = (
  query: QueryDefinition,
  signature: DescribeQueryResponse,
  compile: CompileQuery,
): Contract => ({ variables: query.variables, isRead: compile(query).kind === 'read', signature });

interface Attempt {
  signature?: DescribeQueryResponse;
  /** The reason why the source rejects the statement. */
  fault?: HubError;
}

const columnsOf = (attempt: Attempt | undefined): number => attempt?.signature?.columns.length ?? 0;

async function attempt(query: QueryDefinition, describe: CheckDeps['describe']): Promise<Attempt> {
  try {
    return { signature: await describe(query) };
  } catch (err) {
    if (!(err instanceof HubError)) throw err;
    if (statementFaults.has(err.code) && err.retryable !== true) return { fault: err };
    // MongoDB describes only commands that name their fields.
    if (err.code === 'OPTION_REFUSED') return {};
    throw err;
  }
}

/** Every execution would fail with this. */
function brokenContract(
  { notNull }: QueryDefinition,
  signature: DescribeQueryResponse | undefined,
): HubError[] {
  if (signature === undefined) return [];
  const names = new Set(signature.columns.map(({ name }) => name));
  const missing = notNull.filter((name) => !names.has(name));
  if (missing.length === 0) return [];
  const message = `The result has no column ${missing.join(', ')}, which notNull names.`;
  return [new HubError('CONTRACT_BROKEN', message)];
}

/** Returns the warnings; none if the statement does not compile. */
function warningsOf(draft: QueryDefinition, compile: CompileQuery) {
  try {
    return compile(draft)
      .warnings()
      .map((warning) => ({ severity: 'warning', ...warning }));
  } catch (err) {
    if (err instanceof HubError && statementFaults.has(err.code)) return [];
    throw err;
  }
}

const toProblem = (err: HubError) => ({
  severity: 'error',
  code: err.code,
  detail: detailOf(err),
  state: err.sql?.state,
  line: err.sql?.line,
  column: err.sql?.column,
});
