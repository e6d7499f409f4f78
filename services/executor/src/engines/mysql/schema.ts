/**
 * Reads the tables of the source's database that its user may see, and describes the columns of a statement before it
 * runs.
 */

import { HubError } from '@datahub/service-kit/call/error';
import type { ColumnKind } from '../../ports/column-kind.ts';
import type { Schema, Signature } from '../../ports/engine.ts';
import { schemaBytesMax } from '../shared/bounds.ts';
import {
  commentLengthMax,
  schemaColumnsMax,
  schemaKeyColumnsMax,
  schemaOfRows,
} from '../shared/schema-tables.ts';
import type { ColumnDefinition } from './protocol.ts';
import type { TextRow } from './results.ts';
import type { Prepared } from './statements.ts';
import { hidesColumns, literal, wordsOf } from './text.ts';
import { kindOf, typeName, typeOfParameter } from './values.ts';

const isShown = (
  of: string,
) => `${of}.TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
    AND (DATABASE() IS NULL OR ${of}.TABLE_SCHEMA = DATABASE())`;

const comment = (text: string) => `LEFT(${text}, ${commentLengthMax})`;

/** The comment of a view is VIEW, and says nothing. */
const columnsText = `
  SELECT c.TABLE_SCHEMA, c.TABLE_NAME, t.TABLE_TYPE LIKE '%VIEW%', c.COLUMN_NAME, c.COLUMN_TYPE, c.IS_NULLABLE = 'YES',
    ${comment('c.COLUMN_COMMENT')}, IF(t.TABLE_TYPE LIKE '%VIEW%', '', ${comment('t.TABLE_COMMENT')}), t.TABLE_ROWS
  FROM information_schema.COLUMNS c
  JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
  WHERE ${isShown('c')}
  ORDER BY c.TABLE_SCHEMA, c.TABLE_NAME, c.ORDINAL_POSITION
  LIMIT ${schemaColumnsMax + 1}`;

const keysText = `
  SELECT k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME, k.COLUMN_NAME, k.REFERENCED_TABLE_SCHEMA,
    k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME
  FROM information_schema.KEY_COLUMN_USAGE k
  WHERE ${isShown('k')} AND (k.CONSTRAINT_NAME = 'PRIMARY' OR k.REFERENCED_TABLE_NAME IS NOT NULL)
  ORDER BY k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION
  LIMIT ${schemaKeyColumnsMax}`;

export async function readSchema(runQuery: RunQuery): Promise<Schema> {
  const columns = await runQuery(columnsText, schemaBytesMax);
  const keys = await runQuery(keysText, schemaBytesMax);
  return schemaOfRows(columns, keys, '1');
}

type RunQuery = (query: string, bytesMax?: number) => Promise<TextRow[]>;

export async function describePrepared(
  { columns, parameterCount }: Prepared,
  text: string,
  runQuery: RunQuery,
): Promise<Signature> {
  if (columns.length === 0 && hidesColumns(text)) {
    throw new HubError(
      'OPTION_REFUSED',
      'The server reports the columns of this statement only when it runs.',
      { retryable: false },
    );
  }
  const notNull = await readNotNull(columns, text, runQuery);
  return {
    columns: columns.map((column, i) => {
      const kind = kindOf(column);
      // Zero dates are null in responses, and a document can be the JSON null.
      const nullable = notNull[i] !== true || kindsWithNull.has(kind.is);
      const isUntyped = parameterCount > 0 && typeOfParameter(column, kind);
      return { name: column.name, type: typeName(column), nullable, table: column.table, kind, isUntyped };
    }),
    // The protocol does not report types of parameters.
    parameters: new Array(parameterCount).fill(undefined),
  };
}

const notNullFlag = 0x1;
const kindsWithNull = new Set<ColumnKind['is']>(['date', 'timestamp', 'json']);
/** Far more names than a hand-written statement has. */
const wordsMax = 2_000;
/** Engines that enforce NOT NULL. Other engines may read their rows from other systems. */
const engines = "'InnoDB', 'MyISAM', 'Aria', 'MEMORY'";

/**
 * Returns for each column whether it comes from a NOT NULL column of a table. For a view, the server reports the
 * underlying table, but the view may make its columns NULL with a join. So if the statement names a view, no column
 * counts as NOT NULL.
 */
async function readNotNull(
  columns: readonly ColumnDefinition[],
  text: string,
  runQuery: RunQuery,
): Promise<boolean[]> {
  const flagged = columns.map(({ flags, table }) => (flags & notNullFlag) !== 0 && table !== '');
  const words = wordsOf(text);
  if (!flagged.includes(true) || words.size > wordsMax) return [];
  const names = [...words].map(literal).join(',');
  const found = await runQuery(`
    SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE = 'VIEW' FROM information_schema.TABLES
    WHERE (TABLE_SCHEMA = DATABASE() OR TABLE_SCHEMA IN (${names})) AND TABLE_NAME IN (${names})
      AND (TABLE_TYPE = 'VIEW' OR ENGINE IN (${engines}))`);
  if (found.some(([, , isView]) => isView === '1')) return [];
  const tables = new Set(found.map(([schema, table]) => keyOf(schema, table)));
  return columns.map(({ schema, table }, i) => flagged[i] === true && tables.has(keyOf(schema, table)));
}

const keyOf = (schema: string | null | undefined, table: string | null | undefined) =>
  JSON.stringify([schema, table]).toLowerCase();
