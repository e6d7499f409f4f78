/** What an error of PostgreSQL says to a program: the condition, the names of what was violated, the texts of RAISE. */

import type { SqlFault } from '@datahub/service-kit/call/error';
import { boundedNames, raisedTexts } from '../shared/violation.ts';

const conditions: Record<string, SqlFault['condition']> = {
  '23505': 'UNIQUE_VIOLATION',
  '23503': 'FOREIGN_KEY_VIOLATION',
  // PostgreSQL 18 reports RESTRICT apart.
  '23001': 'FOREIGN_KEY_VIOLATION',
  '23502': 'NOT_NULL_VIOLATION',
  '23514': 'CHECK_VIOLATION',
};

/** The server's source files that check constraints. Code of users can raise the same errors with any names. */
const checkers = new Set([
  'nbtinsert.c',
  'execIndexing.c',
  'execMain.c',
  'ri_triggers.c',
  'execExprInterp.c',
  'domains.c',
]);

/** PL/pgSQL's RAISE, with any SQLSTATE. Its own class is P0. */
export const isRaised = (fields: ReadonlyMap<string, string>, state: string) =>
  fields.get('R') === 'exec_stmt_raise' || state.startsWith('P0');

export function violationOf(
  fields: ReadonlyMap<string, string>,
  state: string,
  { errors }: { errors?: string | undefined } = {},
): SqlFault {
  const raised = isRaised(fields, state);
  const condition = conditions[state] ?? (raised ? 'RAISED' : undefined);
  const isChecked = state.startsWith('23') && checkers.has(fields.get('F') ?? '');
  return {
    ...(condition === undefined ? {} : { condition }),
    ...(isChecked
      ? boundedNames({
          constraint: fields.get('n'),
          schema: fields.get('s'),
          table: fields.get('t'),
          columnName: fields.get('c'),
          dataType: fields.get('d'),
        })
      : {}),
    ...(raised && errors === 'author' ? raisedTexts(fields.get('M') ?? '', fields.get('H')) : {}),
  };
}
