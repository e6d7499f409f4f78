/** The tables that the source's user may see. */

import type { SchemaTable } from '../../engine.ts';

const text = `
  SELECT n.nspname, c.relname, c.relkind IN ('v', 'm'), a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND n.nspname NOT LIKE 'pg_toast%' AND has_table_privilege(c.oid, 'SELECT')
  ORDER BY 1, 2, a.attnum
  LIMIT 50000`;

export async function readSchema(connection: {
  rows(text: string): Promise<(string | null)[][]>;
}): Promise<SchemaTable[]> {
  const tables = new Map<string, SchemaTable>();
  for (const [schema = '', name = '', isView, column = '', type = '', nullable] of await connection.rows(
    text,
  )) {
    const key = JSON.stringify([schema, name]);
    const table = tables.get(key) ?? {
      schema: schema ?? '',
      name: name ?? '',
      kind: isView === 't' ? ('view' as const) : ('table' as const),
      columns: [],
    };
    table.columns.push({ name: column ?? '', type: type ?? '', nullable: nullable === 't' });
    tables.set(key, table);
  }
  return [...tables.values()];
}
