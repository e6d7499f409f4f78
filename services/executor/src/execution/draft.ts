/** Drafts: queries that run without being stored, and their plans. */

import type { EngineName } from '@datahub/contract/engines';
import { isGranted } from '@datahub/contract/scopes';
import type { ExecutionReply } from '@datahub/executor-session/executor';
import type { ResolveDraftRequest } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { Draft, ExecuteRequest } from '@datahub/proto/executor/v1/executor';
import type { CallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { turnForText } from '@datahub/service-kit/yield-to-loop';
import { type Catalog, type QueryDefinition, toQueryDefinition } from '../definitions/definition.ts';
import { pieceBytes } from '../engines/shared/bounds.ts';
import type { ResponseWriter } from '../result/response.ts';
import type { Execution } from './execution-state.ts';
import { type PreparedQuery, refusedOption } from './prepare.ts';
import { runOn, type StatementRun } from './run-statement.ts';

/** The draft as a definition under the id of its source, because its calls are counted there. */
export async function resolveDraft(
  { explain: _, analyze: __, ...draft }: ResolveDraftRequest & Pick<Partial<Draft>, 'explain' | 'analyze'>,
  ctx: CallContext,
  catalog: Pick<Catalog, 'resolveDraft'>,
): Promise<QueryDefinition> {
  const definition = toQueryDefinition(await catalog.resolveDraft(draft, ctx));
  await turnForText(definition.text.length);
  return { ...definition, queryId: definition.source.sourceId };
}

/**
 * Throws SCOPE_DENIED without the scope to write queries, and OPTION_REFUSED for a draft that would write, or that has no
 * plan.
 */
export function requireMayTry(
  principal: Principal,
  { draft, options }: Pick<ExecuteRequest, 'draft' | 'options'>,
  { query, prepared: { kind } }: { query: QueryDefinition; prepared: Pick<PreparedQuery, 'kind'> },
): void {
  if (!isGranted(principal.scopes, 'queries:write'))
    throw new HubError('SCOPE_DENIED', 'This needs a key with the scope queries:write.');
  if (draft?.analyze && !draft.explain) throw refusedOption('analyze needs explain: true.');
  if (draft?.explain) requirePlan(query, kind);
  else if (kind !== 'read' && options?.dryRun !== true)
    throw refusedOption(
      'A query that writes is tried only with dryRun: true, which rolls it back. Store the query to run it.',
    );
}

/** Commands of statements that have a plan. */
const explained = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE']);

function requirePlan({ command, source: { engine } }: QueryDefinition, kind: PreparedQuery['kind']): void {
  if (engine === 'mongodb') throw refusedOption('The hub cannot explain queries of MongoDB.');
  if (kind !== 'read' || !explained.has(command))
    throw refusedOption('Only a SELECT, WITH, VALUES or TABLE that reads can be explained.');
}

const prefixes: Record<Exclude<EngineName, 'mongodb'>, { explain: string; analyze: string }> = {
  postgres: { explain: 'EXPLAIN (FORMAT JSON)', analyze: 'EXPLAIN (ANALYZE, FORMAT JSON)' },
  mariadb: { explain: 'EXPLAIN FORMAT=JSON', analyze: 'ANALYZE FORMAT=JSON' },
  mysql: { explain: 'EXPLAIN FORMAT=JSON', analyze: 'EXPLAIN ANALYZE' },
};

/** Analyzing takes at most this long, because a plan is wanted while a query is written. */
const analyzeMsMax = 10_000;

export const draftTimeoutMs = (draft: Draft, timeoutMs: number): number =>
  draft.analyze ? Math.min(timeoutMs, analyzeMsMax) : timeoutMs;

/** Runs a draft: its statement is not kept prepared, and with `explain` the answer is the plan. */
export async function runDraft(execution: Execution, run: StatementRun, draft: Draft): Promise<void> {
  const engine = execution.query?.source.engine;
  const statement = { ...run.statement, isOnce: true };
  if (!draft.explain || engine === undefined || engine === 'mongodb')
    return runOn(execution, { ...run, statement });
  const { statementTimeoutMs } = run.options;
  const prefix = `${prefixes[engine][draft.analyze ? 'analyze' : 'explain']} `;
  const isJson = !(draft.analyze && engine === 'mysql');
  execution.charactersBefore = prefix.length;
  return runOn(execution, {
    ...run,
    statement: { ...statement, text: prefix + statement.text },
    options: { statementTimeoutMs },
    deps: { ...run.deps, createWriter: ({ reply }) => createPlanWriter(reply, { isJson }) },
  });
}

const planBytesMax = 4 * 1_048_576;
const chunkBytesMax = 262_144;

/** `isJson` is false for a plan that is plain text, which becomes a JSON string. */
function createPlanWriter(reply: ExecutionReply, { isJson }: { isJson: boolean }): ResponseWriter {
  let lines: Buffer[] = [];
  let bytes = 0;
  return {
    takesDocuments: false,
    takesBinary: false,
    rowCount: 0,
    truncated: false,
    full: false,
    onDrain: () => {},
    begin: () => {},
    row: (source, offsets) => {
      const [start = 0, end = 0] = offsets;
      bytes += end - start + pieceBytes;
      if (bytes > planBytesMax)
        throw new HubError('LIMIT_EXCEEDED', 'The plan of this query is larger than 4 MiB.', {
          retryable: false,
        });
      // The database's buffer is used again for the next rows.
      lines.push(Buffer.from(source.subarray(start, end)));
    },
    document: () => {},
    abandon: () => {
      lines = [];
    },
    turnToFinish: () => undefined,
    finish: () => {
      const text = lines.join('\n');
      const body = Buffer.from(`{"plan":${isJson ? text : JSON.stringify(text)}}`);
      for (let at = 0; at < body.length; at += chunkBytesMax)
        reply.chunk(body.subarray(at, at + chunkBytesMax), at + chunkBytesMax >= body.length);
    },
  };
}
