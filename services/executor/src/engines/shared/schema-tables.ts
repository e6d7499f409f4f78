/** Rows of a catalog of columns → tables, as far as one answer goes. */

import type { ColumnInfo, Schema, SchemaTable } from '../../engine.ts';

/** Engines ask for one more, which says that there are more. */
export const schemaColumnsMax = 50_000;

export interface SchemaColumn extends Pick<SchemaTable, 'schema' | 'name' | 'kind'> {
  column: ColumnInfo;
}

/** `columns` are ordered by table. A table of which some are missing is left out, unless it is the only one. */
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
