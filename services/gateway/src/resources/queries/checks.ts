/** Checks a query before it is stored, for editors and CI: `POST /v1/queries/check`. */

import type {
  CheckQueryResponse,
  ContractChange,
  QueryProblem,
  RowDiff,
} from '@datahub/proto/executor/v1/executor';
import { turnFor, turnForText } from '@datahub/service-kit/yield-to-loop';
import type { FastifyRequest } from 'fastify';
import { memberJson } from '../../http/json-body.ts';
import { count, type FromSchema, id, list, object, record, text } from '../../http/json-schema.ts';
import { type FieldPointers, validationError } from '../../http/request-error.ts';
import { type Handler, type Route, requireGranted } from '../../http/route.ts';
import { JsonText } from '../../response/json-splices.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import { readSession, session } from '../session-schema.ts';
import { readVariables } from './queries.ts';
import { context, notNull } from './query-schemas.ts';
import { signatureOrNull, sqlFault, toSignatureJson } from './signatures.ts';
import { command, queryText, readText, readTransaction, transaction } from './statement-schemas.ts';

export function queryCheckRoutes(deps: ResourceDeps): Route[] {
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/queries/check', scope: 'queries:check', summary: 'Check a query that is not stored', audit: 'not audited', reads: true, body: checkBody, pointers: draftPointers, response: checked, handler: createCheckHandler(deps) },
  ];
}

export const checkBody = object(
  {
    ...{ sourceId: id, query: queryText, command, context, notNull, session, compareTo: id },
    ...transaction,
    diff: { type: 'boolean' },
    values: { type: ['object', 'null'] },
  },
  ['sourceId'],
);

const problem = record(
  { severity: { type: 'string', enum: ['error', 'warning'] }, code: text, detail: text, sql: sqlFault },
  ['sql'],
);
const change = record(
  {
    kind: { type: 'string', enum: ['column', 'variable'] },
    name: text,
    change: { type: 'string', enum: ['added', 'removed', 'changed'] },
    breaking: { type: 'boolean' },
    member: {
      type: 'string',
      enum: ['type', 'jsonType', 'nullable', 'list', 'required', 'enum', 'secret'],
    },
    from: text,
    to: text,
  },
  ['member', 'from', 'to'],
);
const row = { type: 'object' } as const;
const sample = record(
  { kind: { type: 'string', enum: ['added', 'removed', 'changed'] }, before: row, after: row },
  ['before', 'after'],
);
const rowDiff = record({
  ...{ added: count, removed: count, changed: count, unchanged: count },
  samples: list(sample),
});
export const checked = record(
  { signature: signatureOrNull, problems: list(problem), changes: list(change), diff: rowDiff },
  ['changes', 'diff'],
);

/** `context` holds the definitions of the variables here, and `values` their values. */
export const draftPointers = (body: unknown): FieldPointers => {
  const { context } = (body ?? {}) as { context?: unknown };
  const definitions = Array.isArray(context) ? context.map((_, i) => [`context.${i}`, `/context/${i}`]) : [];
  return { context: '/values', ...Object.fromEntries(definitions) };
};

type CheckBody = FromSchema<typeof checkBody>;
type Checked = FromSchema<typeof checked>;

function createCheckHandler({ upstreams: { executor } }: ResourceDeps): Handler {
  return async (request) => {
    const body = request.body as CheckBody;
    const { sourceId, command, compareTo, notNull, diff, values } = body;
    if (diff) request.use = { action: 'query.execute', resourceId: requireDiff(request, compareTo) };
    await turnForText(body.query?.length ?? 0);
    const context = readVariables(request, { context: body.context, path: ['context'] });
    const checked = await executor.checkQuery(
      {
        ...{ sourceId, query: readText(body), command, compareTo, context, notNull: notNull ?? [] },
        sessionJson: readSession(body.session),
        transactionJson: readTransaction(body, ''),
        diff: diff ? { valuesJson: memberJson(request, 'values', values) } : undefined,
      },
      request.context,
    );
    await turnFor((checked.signature?.columns.length ?? 0) + (checked.changes?.changes.length ?? 0));
    return toCheckedJson(checked);
  };
}

/** The answer has rows of the stored query, whose id this returns. */
function requireDiff(request: FastifyRequest, compareTo: string | undefined): string {
  requireGranted(request, 'queries:execute');
  if (compareTo === undefined)
    throw validationError([{ pointer: '/compareTo', detail: 'is missing; diff needs a stored query' }]);
  return compareTo;
}

const toDiffJson = ({ samples, ...counts }: RowDiff) => ({
  ...counts,
  samples: samples.map(({ kind, beforeJson, afterJson }) => ({
    kind: kind as 'added' | 'removed' | 'changed',
    ...(beforeJson === undefined ? {} : { before: JsonText.of<FromSchema<typeof row>>(beforeJson) }),
    ...(afterJson === undefined ? {} : { after: JsonText.of<FromSchema<typeof row>>(afterJson) }),
  })),
});

const toCheckedJson = ({ signature, problems, changes, diff }: CheckQueryResponse): Checked => ({
  signature: signature === undefined ? null : toSignatureJson(signature),
  problems: problems.map(toProblemJson),
  changes: changes?.changes.map(toChangeJson),
  diff: diff && toDiffJson(diff),
});

function toProblemJson({ severity, code, detail, state, line, column }: QueryProblem) {
  const sql = {
    state,
    line,
    column,
  };
  return {
    severity: severity as 'error' | 'warning',
    code,
    detail,
    sql: Object.values(sql).some((value) => value !== undefined) ? sql : undefined,
  };
}

function toChangeJson({ kind, name, change, breaking, member, from, to }: ContractChange) {
  return {
    kind: kind as 'column' | 'variable',
    name,
    change: change as 'added' | 'removed' | 'changed',
    breaking,
    member: member as 'type',
    from,
    to,
  };
}
