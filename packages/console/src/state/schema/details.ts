/**
 * What the schema of a source does not say: foreign keys, comments and estimates of rows. The console reads them with
 * statements of its own, as drafts, if the key may run drafts.
 */

import { callJson } from '../../api/client.ts';
import { may } from '../permissions.ts';
import type { Relation } from './protocol.ts';

export interface TableDetails {
  /** The estimate of the database; undefined if it has none. */
  rows: number | undefined;
  comment: string;
  /** By the name of the column: its comment, and whether it is a part of the primary key. */
  columns: Map<string, { comment: string; isKey: boolean }>;
}

const rowsMax = 5_000;
const isMysql = (engine: string) => engine === 'mysql' || engine === 'mariadb';

const relationStatements = {
  postgres: `SELECT sn.nspname AS from_schema, s.relname AS from_table, sa.attname AS from_column,
  tn.nspname AS to_schema, t.relname AS to_table, ta.attname AS to_column
FROM pg_constraint k
JOIN pg_class s ON s.oid = k.conrelid JOIN pg_namespace sn ON sn.oid = s.relnamespace
JOIN pg_class t ON t.oid = k.confrelid JOIN pg_namespace tn ON tn.oid = t.relnamespace
JOIN pg_attribute sa ON sa.attrelid = k.conrelid AND sa.attnum = k.conkey[1]
JOIN pg_attribute ta ON ta.attrelid = k.confrelid AND ta.attnum = k.confkey[1]
WHERE k.contype = 'f' AND array_length(k.conkey, 1) = 1`,
  mysql: `SELECT max(table_schema) AS from_schema, max(table_name) AS from_table, max(column_name) AS from_column,
  max(referenced_table_schema) AS to_schema, max(referenced_table_name) AS to_table, max(referenced_column_name) AS to_column
FROM information_schema.key_column_usage
WHERE referenced_table_name IS NOT NULL AND table_schema = database()
GROUP BY constraint_schema, constraint_name HAVING count(*) = 1`,
};

const detailStatements = {
  postgres: `SELECT a.attname AS name, col_description(c.oid, a.attnum) AS comment,
  EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND a.attnum = ANY (i.indkey)) AS is_key,
  obj_description(c.oid, 'pg_class') AS table_comment, CAST(c.reltuples AS bigint) AS row_estimate
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE n.nspname = :schema AND c.relname = :name AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
  mysql: `SELECT c.column_name AS name, c.column_comment AS comment, c.column_key = 'PRI' AS is_key,
  t.table_comment AS table_comment, t.table_rows AS row_estimate
FROM information_schema.columns c JOIN information_schema.tables t
  ON t.table_schema = c.table_schema AND t.table_name = c.table_name
WHERE c.table_schema = :schema AND c.table_name = :name ORDER BY c.ordinal_position`,
};

const statementFor = (statements: typeof relationStatements, engine: string): string | undefined =>
  engine === 'postgres' ? statements.postgres : isMysql(engine) ? statements.mysql : undefined;

export const mayReadDetails = (engine: string): boolean =>
  (engine === 'postgres' || isMysql(engine)) && may('queries:write') && may('queries:execute');

interface Statement {
  sourceId: string;
  query: string;
  values?: Record<string, string>;
  maxRows?: number;
}

/** Runs a statement of the console as a draft. */
export async function readRows<Row>({
  sourceId,
  query,
  values = {},
  maxRows = rowsMax,
}: Statement): Promise<Row[]> {
  const context = Object.keys(values).map((key) => ({ key, type: 'string' }));
  const body = { sourceId, query, context, values, options: { maxRows } };
  return (await callJson<{ data: Row[] }>('v1/queries/try', { body })).data;
}

type Text = string | null;

export async function readRelations(sourceId: string, engine: string): Promise<Relation[]> {
  const query = statementFor(relationStatements, engine);
  if (query === undefined || !mayReadDetails(engine)) return [];
  const rows = await readRows<Record<string, string>>({ sourceId, query });
  const side = (row: Record<string, string>, end: 'from' | 'to') => ({
    schema: row[`${end}_schema`] ?? '',
    table: row[`${end}_table`] ?? '',
    column: row[`${end}_column`] ?? '',
  });
  return rows.map((row) => ({ from: side(row, 'from'), to: side(row, 'to') }));
}

interface DetailRow {
  name: string;
  comment: Text;
  is_key: boolean | number;
  table_comment: Text;
  row_estimate: number | string | null;
}

export async function readDetails(
  sourceId: string,
  { engine, schema, name }: { engine: string; schema: string; name: string },
): Promise<TableDetails | undefined> {
  const query = statementFor(detailStatements, engine);
  if (query === undefined || !mayReadDetails(engine)) return undefined;
  const rows = await readRows<DetailRow>({ sourceId, query, values: { schema, name } });
  const [first] = rows;
  const estimate = Number(first?.row_estimate ?? -1);
  return {
    // PostgreSQL says −1 before the first ANALYZE.
    rows: estimate >= 0 ? estimate : undefined,
    comment: first?.table_comment ?? '',
    columns: new Map(
      rows.map(({ name: column, comment, is_key }) => [
        column,
        { comment: comment ?? '', isKey: is_key === true || Number(is_key) === 1 },
      ]),
    ),
  };
}
