/** Reads the tables that the source's user may see, and describes the columns of a statement before it runs. */

import { strictFunctions } from '@datahub/statement/sql/never-null';
import type { Schema, Signature, Statement } from '../../ports/engine.ts';
import { OwnAnswer, schemaBytesMax } from '../shared/bounds.ts';
import {
  commentLengthMax,
  schemaColumnsMax,
  schemaKeyColumnsMax,
  schemaOfRows,
} from '../shared/schema-tables.ts';
import type { FieldDescription } from './protocol.ts';
import type { Statements } from './statements.ts';
import { kindOf, typeName } from './values.ts';

const isShown = `n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%'
    AND has_table_privilege(c.oid, 'SELECT')`;

const comment = (text: string) => `left(${text}, ${commentLengthMax})`;

/** Before the first ANALYZE, `reltuples` is -1, or 0 up to version 13. */
const columnsText = `
  SELECT n.nspname, c.relname, c.relkind IN ('v', 'm'), a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
    ${comment('d.description')}, ${comment("obj_description(c.oid, 'pg_class')")},
    CASE WHEN c.reltuples > 0 THEN CAST(c.reltuples AS bigint) WHEN c.reltuples = 0 AND c.relpages > 0 THEN 0 END
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_description d ON d.classoid = CAST('pg_class' AS regclass) AND d.objoid = c.oid AND d.objsubid = a.attnum
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ${isShown}
  ORDER BY 1, 2, a.attnum
  LIMIT ${schemaColumnsMax + 1}`;

const keysText = `
  SELECT n.nspname, c.relname, k.conname, a.attname, fn.nspname, f.relname, fa.attname
  FROM pg_constraint k
  JOIN pg_class c ON c.oid = k.conrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  CROSS JOIN LATERAL generate_subscripts(k.conkey, 1) AS place
  JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[place]
  LEFT JOIN pg_class f ON f.oid = k.confrelid
  LEFT JOIN pg_namespace fn ON fn.oid = f.relnamespace
  LEFT JOIN pg_attribute fa ON fa.attrelid = f.oid AND fa.attnum = k.confkey[place]
  WHERE k.contype IN ('p', 'f') AND ${isShown}
  ORDER BY 1, 2, 3, place
  LIMIT ${schemaKeyColumnsMax}`;

export async function readSchema(connection: {
  rows(text: string, answer: OwnAnswer): Promise<(string | null)[][]>;
}): Promise<Schema> {
  const columns = await connection.rows(columnsText, new OwnAnswer(schemaBytesMax));
  const keys = await connection.rows(keysText, new OwnAnswer(schemaBytesMax));
  return schemaOfRows(columns, keys, 't');
}

const redefinedText = `
  SELECT DISTINCT proname FROM pg_catalog.pg_proc
  WHERE proname = ANY ('{count,${[...strictFunctions].join(',').toLowerCase()}}')
    AND pronamespace <> CAST('pg_catalog' AS regnamespace)`;

/** Describes a statement. The server parses it but does not run it. */
export async function describeStatement(statements: Statements, statement: Statement): Promise<Signature> {
  const { serverTypes } = statements;
  const { fields = [], parameterTypes: types, apart } = await statements.parse(statement);
  const parameterTypes = apart ? statement.params.map((_, i) => typeInPlaces(i, types, apart.params)) : types;
  const notNull = await readNotNull(statements, fields);
  const redefined = await statements.rows(redefinedText);
  const labels = await readLabels(statements, [...fields.map(({ typeId }) => typeId), ...parameterTypes]);
  const labelsOf = (typeId: number) => labels.get(enumOf(typeId, serverTypes));
  return {
    redefined: new Set(redefined.map(([name]) => name ?? '')),
    columns: fields.map(({ name, typeId, modifier }, i) => {
      const kind = kindOf(typeId, { serverTypes, modifier });
      // A document can be the JSON null.
      const table = notNull[i];
      const nullable = table === undefined || kind.is === 'json';
      // An array is no value of the enum.
      const own = kind.is === 'array' ? undefined : labelsOf(typeId);
      return { name, type: typeName(typeId, serverTypes), nullable, table, kind, labels: own };
    }),
    parameters: parameterTypes.map((id) => (id === anyType ? undefined : typeName(id, serverTypes))),
    parameterLabels: new Map(
      parameterTypes.flatMap((id, i) => {
        const own = labelsOf(id);
        return own === undefined ? [] : [[i, own] as const];
      }),
    ),
  };
}

const anyType = 0;

/** The type of a variable, if all its places expect the same. */
function typeInPlaces(variable: number, types: readonly number[], variables: readonly number[]): number {
  const expected = new Set(types.filter((_, i) => variables[i] === variable));
  return expected.size === 1 ? ([...expected][0] as number) : anyType;
}

/** Of one enum, and of all enums of a statement. Beyond it, values are described as texts. */
const enumLabelsMax = 100;
const labelsMax = 1_000;

/** The element of an array, and the base of a domain. */
function enumOf(typeId: number, serverTypes: Statements['serverTypes']): number {
  const own = serverTypes.get(typeId);
  const inner = own?.elementId ?? own?.baseId;
  return inner === undefined ? typeId : enumOf(inner, serverTypes);
}

/** The values of enums among the types, by type. */
async function readLabels(
  statements: Statements,
  typeIds: readonly number[],
): Promise<Map<number, string[]>> {
  const { serverTypes } = statements;
  const ids = new Set(typeIds.filter((id) => serverTypes.has(id)).map((id) => enumOf(id, serverTypes)));
  const found = new Map<number, string[]>();
  if (ids.size === 0) return found;
  const rows = await statements.rows(
    `SELECT enumtypid, enumlabel FROM pg_catalog.pg_enum WHERE enumtypid IN (${[...ids].join(',')}) ORDER BY enumtypid, enumsortorder LIMIT ${labelsMax + 1}`,
  );
  if (rows.length > labelsMax) return found;
  for (const [id, label] of rows) {
    const labels = found.get(Number(id)) ?? [];
    found.set(Number(id), [...labels, label ?? '']);
  }
  for (const [id, labels] of found) if (labels.length > enumLabelsMax) found.delete(id);
  return found;
}

/** Tables with lower OIDs are system tables, whose NOT NULL was wrong in some versions. */
const firstUserId = 16_384;

/**
 * Returns for each field the name of its table, if it comes from a column that is NOT NULL there and in all partitions.
 * Excluded are foreign tables, which do not enforce NOT NULL; tables with inheritance children, whose rows are included
 * in reads; tables with rules, which can replace RETURNING; virtual columns, which are computed when read; and constraints of PostgreSQL 18 that are not validated.
 */
async function readNotNull(
  statements: Statements,
  fields: readonly FieldDescription[],
): Promise<(string | undefined)[]> {
  const keys = fields.map(({ tableId, attribute }) => `${tableId}.${attribute}`);
  const tableIds = new Set(fields.map(({ tableId }) => tableId).filter((id) => id >= firstUserId));
  if (tableIds.size === 0) return [];
  const found = await statements.rows(`
    WITH RECURSIVE below(root, id) AS (
      SELECT oid, oid FROM pg_catalog.pg_class WHERE oid IN (${[...tableIds].join(',')})
      UNION SELECT root, inhrelid FROM below JOIN pg_catalog.pg_inherits ON inhparent = id
    )
    SELECT a.attrelid, a.attnum, c.relname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    WHERE a.attrelid IN (${[...tableIds].join(',')}) AND a.attnum > 0 AND a.attnotnull
      AND coalesce(pg_catalog.to_jsonb(a)->>'attgenerated', '') <> 'v'
      AND NOT c.relhasrules AND (c.relkind = 'p' OR c.relkind = 'r' AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_inherits WHERE inhparent = c.oid))
      AND NOT EXISTS (
        SELECT FROM below JOIN pg_catalog.pg_class b ON b.oid = id
        WHERE root = c.oid AND (b.relkind NOT IN ('r', 'p') OR EXISTS (
          SELECT FROM pg_catalog.pg_constraint
          WHERE conrelid = b.oid AND contype = 'n' AND NOT convalidated)))`);
  const notNull = new Map(
    found.map(([tableId, attribute, table]) => [`${tableId}.${attribute}`, table ?? '']),
  );
  return keys.map((key) => notNull.get(key));
}
