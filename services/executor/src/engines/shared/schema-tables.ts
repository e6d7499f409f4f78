/** Groups the rows of an engine's column catalog by table, up to a limit. */

import type { ColumnInfo, Schema, SchemaTable } from '../../ports/engine.ts';

/** Engines query one more column, to detect that some are left out. */
export const schemaColumnsMax = 50_000;

export interface SchemaColumn extends Pick<SchemaTable, 'schema' | 'name' | 'kind'> {
  column: ColumnInfo;
}

/** `columns` must be ordered by table. Leaves out a table whose columns are incomplete, unless it is the only one. */
export function toSchema(columns: SchemaColumn[]): Schema {
  const tables: SchemaTable[] = [];
  for (const { column, ...table } of columns.slice(0, schemaColumnsMax)) {
    if (!isOf(table, tables.at(-1))) tables.push({ ...table, columns: [] });
    tables.at(-1)?.columns.push(column);
  }
  const next = columns[schemaColumnsMax];
  if (next === undefined) return { tables };
  if (tables.length > 1 && isOf(next, tables.at(-1))) tables.pop();
  return { tables, truncated: true };
}

function isOf(one: Pick<SchemaTable, 'schema' | 'name'>, table: SchemaTable | undefined): boolean {
  return one.schema === table?.schema && one.name === table.name;
}
