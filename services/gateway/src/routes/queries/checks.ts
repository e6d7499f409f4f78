/** Checks a query before it is stored, for editors and CI: `POST /v1/queries/check`. */

import type { CheckQueryResponse, ContractChange, QueryProblem } from '@datahub/proto/executor/v1/executor';
import { answer, type FromSchema, id, list, object, text } from '../../http/json-schema.ts';
import type { Handler } from '../../http/request-context.ts';
import type { Upstreams } from '../../upstreams.ts';
import { command, context, exactBody, notNull, queryText, toVariables } from './queries.ts';
import { signatureOrNull, sqlFault, toSignatureJson } from './signatures.ts';

export const checkBody = object(
  { sourceId: id, query: queryText, command, context, notNull, compareTo: id },
  ['sourceId', 'query'],
);

const problem = answer(
  { severity: { type: 'string', enum: ['error', 'warning'] }, code: text, detail: text, sql: sqlFault },
  ['sql'],
);
const change = answer(
  {
    kind: { type: 'string', enum: ['column', 'variable'] },
    name: text,
    change: { type: 'string', enum: ['added', 'removed', 'changed'] },
    breaking: { type: 'boolean' },
    member: { type: 'string', enum: ['type', 'jsonType', 'nullable', 'list', 'required'] },
    from: text,
    to: text,
  },
  ['member', 'from', 'to'],
);
export const checked = answer(
  { signature: signatureOrNull, problems: list(problem), changes: list(change) },
  ['changes'],
);

type CheckBody = FromSchema<typeof checkBody>;
type Checked = FromSchema<typeof checked>;

export function createCheckHandler({ executor }: Upstreams): Handler {
  return async (request) => {
    const { sourceId, query, command, compareTo, notNull } = request.body as CheckBody;
    const context = toVariables(exactBody<CheckBody>(request).context);
    return toCheckedJson(
      await executor.checkQuery(
        { sourceId, query, command, compareTo, context, notNull: notNull ?? [] },
        request.context,
      ),
    );
  };
}

const toCheckedJson = ({ signature, problems, changes }: CheckQueryResponse): Checked => ({
  signature: signature === undefined ? null : toSignatureJson(signature),
  problems: problems.map(toProblemJson),
  ...(changes === undefined ? {} : { changes: changes.changes.map(toChangeJson) }),
});

function toProblemJson({ severity, code, detail, state, line, column }: QueryProblem) {
  const sql = {
    ...(state === undefined ? {} : { state }),
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
  };
  return {
    severity: severity as 'error' | 'warning',
    code,
    detail,
    ...(Object.keys(sql).length === 0 ? {} : { sql }),
  };
}

function toChangeJson({ kind, name, change, breaking, member, from, to }: ContractChange) {
  return {
    kind: kind as 'column' | 'variable',
    name,
    change: change as 'added' | 'removed' | 'changed',
    breaking,
    ...(member === undefined ? {} : { member: member as 'type' }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
}
