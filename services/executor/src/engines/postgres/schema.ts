/** The tables that the source's user may see. */

import type { Schema } from '../../engine.ts';
import { schemaColumnsMax, toSchema } from '../shared/schema-tables.ts';

const text = `
  SELECT n.nspname, c.relname, c.relkind IN ('v', 'm'), a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND n.nspname NOT LIKE 'pg_toast%' AND has_table_privilege(c.oid, 'SELECT')
  ORDER BY 1, 2, a.attnum
  LIMIT ${schemaColumnsMax + 1}`;

export async function readSchema(connection: {
  rows(text: string): Promise<(string | null)[][]>;
}): Promise<Schema> {
  const rows = await connection.rows(text);
  return toSchema(
    rows.map(([schema, name, isView, column, type, nullable]) => ({
      schema: schema ?? '',
      name: name ?? '',
      kind: isView === 't' ? 'view' : 'table',
      column: { name: column ?? '', type: type ?? '', nullable: nullable === 't' },
    })),
  );
}
