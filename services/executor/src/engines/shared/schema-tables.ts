/** Groups the rows of an engine's catalogs of columns and keys by table, up to a limit. */

import type { ColumnInfo, ForeignKey, Schema, SchemaTable } from '../../ports/engine.ts';

/** Engines query one more column, to detect that some are left out. */
export const schemaColumnsMax = 50_000;
/** The columns of all keys. Keys beyond it are left out, because they only help people. */
export const schemaKeyColumnsMax = 50_000;
/** Engines cut longer comments, so that the schema stays small. */
export const commentLengthMax = 200;

export interface SchemaColumn
  extends Pick<SchemaTable, 'schema' | 'name' | 'kind' | 'comment' | 'rowEstimate'> {
  column: ColumnInfo;
}

/** A column of a primary key, or of a foreign key. */
export interface KeyColumn extends Pick<SchemaTable, 'schema' | 'name'> {
  /** Unique among the keys of the table. */
  key: string;
  column: string;
  /** What a foreign key references; undefined in a primary key. */
  referenced: { schema: string; table: string; column: string } | undefined;
}

type TextRow = (string | null)[];

/**
 * The same from rows of texts, in the order of the members of `SchemaColumn` and `KeyColumn` that the queries of the engines
 * select. `yes` is how the engine writes true.
 */
export function schemaOfRows(columns: TextRow[], keys: TextRow[], yes: string): Schema {
  return toSchema(
    columns.map(([schema, name, isView, column, type, nullable, comment, tableComment, rows]) => ({
      schema: schema ?? '',
      name: name ?? '',
      kind: isView === yes ? 'view' : 'table',
      column: {
        name: column ?? '',
        type: type ?? '',
        nullable: nullable === yes,
        comment: comment || undefined,
      },
      comment: tableComment || undefined,
      rowEstimate: rows == null ? undefined : Number(rows),
    })),
    keys.map(([schema, name, key, column, referencedSchema, table, referencedColumn]) => ({
      schema: schema ?? '',
      name: name ?? '',
      key: key ?? '',
      column: column ?? '',
      referenced:
        table == null ? undefined : { schema: referencedSchema ?? '', table, column: referencedColumn ?? '' },
    })),
  );
}

/**
 * `columns` must be ordered by table, and `keys` by key. Leaves out a table whose columns are incomplete, unless it is the
 * only one.
 */
export function toSchema(columns: SchemaColumn[], keys: KeyColumn[]): Schema {
  const tables: SchemaTable[] = [];
  for (const { column, ...table } of columns.slice(0, schemaColumnsMax)) {
    if (!isOf(table, tables.at(-1))) tables.push({ ...table, columns: [], primaryKey: [], foreignKeys: [] });
    tables.at(-1)?.columns.push(column);
  }
  addKeys(tables, keys);
  const next = columns[schemaColumnsMax];
  if (next === undefined) return { tables };
  if (tables.length > 1 && isOf(next, tables.at(-1))) tables.pop();
  return { tables, truncated: true };
}

function addKeys(tables: SchemaTable[], keys: KeyColumn[]): void {
  const byName = new Map(tables.map((table) => [idOf(table), table]));
  const foreignKeys = new Map<string, ForeignKey>();
  for (const { key, column, referenced, ...table } of keys) {
    const owner = byName.get(idOf(table));
    if (owner === undefined) continue;
    if (referenced === undefined) {
      owner.primaryKey.push(column);
      continue;
    }
    const id = JSON.stringify([table.schema, table.name, key]);
    let foreignKey = foreignKeys.get(id);
    if (foreignKey === undefined) {
      const { schema, table } = referenced;
      foreignKey = { columns: [], schema, table, referencedColumns: [] };
      foreignKeys.set(id, foreignKey);
      owner.foreignKeys.push(foreignKey);
    }
    foreignKey.columns.push(column);
    foreignKey.referencedColumns.push(referenced.column);
  }
}

type Named = Pick<SchemaTable, 'schema' | 'name'>;

const idOf = ({ schema, name }: Named): string => JSON.stringify([schema, name]);

function isOf(one: Named, table: SchemaTable | undefined): boolean {
  return one.schema === table?.schema && one.name === table.name;
}
