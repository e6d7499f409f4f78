/** JSON Schemas of the values of variables and of columns. */

import { elementsOf } from '@datahub/contract/json-text';
import { listElementsMax } from '@datahub/contract/limits';
import type { VariableType } from '@datahub/contract/variable-types';
import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import { JsonText } from '../../response/json-splices.ts';

export type Schema = Record<string, unknown>;

/** The signature of a query. Members that older signatures lack are optional. */
export interface Described {
  columns: { name: string; type: string; nullable?: boolean; jsonType?: string; labels?: string[] }[];
  variables: { key: string; type?: string; list?: boolean; nullable?: boolean; labels?: string[] }[];
  problem?: { code: string };
}

export interface ValueShape {
  key: string;
  /** The schema of the value in a body. */
  schema: Schema;
  /** The schema of the value in a URL, which has no null. */
  inUrl: Schema;
  /** True if each call must set the variable. */
  required: boolean;
  /** True if the value must not be in a URL. */
  isSecret: boolean;
  description: string | undefined;
  /** A sample value for the document. */
  example: unknown;
}

/** Schemas by the declared type of a variable. */
const schemas: Record<VariableType, Schema> = {
  // The hub refuses NUL characters.
  string: { type: 'string', pattern: '^[^\\u0000]*$' },
  integer: { type: 'integer', format: 'int32', minimum: -2_147_483_648, maximum: 2_147_483_647 },
  bigint: { type: ['integer', 'string'], format: 'int64', pattern: '^-?\\d{1,19}$' },
  number: { type: 'number' },
  decimal: {
    type: ['number', 'string'],
    format: 'decimal',
    pattern: '^-?(\\d+(\\.\\d*)?|\\.\\d+)([eE][+-]?\\d{1,4})?$',
  },
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  timestamp: { type: 'string', format: 'date-time' },
  uuid: { type: 'string', format: 'uuid' },
  json: {},
};

/** Maps the databases' names of types to the types that a variable can be declared with. */
const declarable: Record<string, VariableType> = Object.fromEntries(
  Object.entries({
    integer: ['smallint', 'integer', 'int', 'mediumint', 'tinyint'],
    bigint: ['bigint'],
    number: ['real', 'double precision', 'double', 'float'],
    decimal: ['numeric', 'decimal'],
    boolean: ['boolean'],
    string: ['text', 'character varying', 'varchar', 'character', 'char'],
    date: ['date'],
    timestamp: [
      'timestamp without time zone',
      'timestamp with time zone',
      'timestamptz',
      'timestamp',
      'datetime',
    ],
    uuid: ['uuid'],
    json: ['json', 'jsonb'],
  }).flatMap(([type, names]) => names.map((name) => [name, type as VariableType])),
);

/** Returns the variables that a caller can set, which are those not in `pinned`. */
export function toValueShapes(
  declared: readonly Variable[],
  described: Described | undefined,
  pinned: ReadonlySet<string>,
): ValueShape[] {
  const byKey = new Map(declared.map((variable) => [variable.key, variable]));
  const used = described?.variables ?? [];
  const unused = declared
    .filter(({ key }) => !used.some((one) => one.key === key))
    .map(({ key }) => ({ key, isUnused: described !== undefined }));
  return [...used, ...unused]
    .filter(({ key }) => !pinned.has(key))
    .map((one) => toShape({ ...one, declared: byKey.get(one.key) }));
}

interface Known {
  key: string;
  type?: string;
  list?: boolean;
  nullable?: boolean;
  labels?: string[];
  isUnused?: boolean;
  declared: Variable | undefined;
}

function toShape({ key, type, list, nullable, labels, isUnused, declared }: Known): ValueShape {
  const named = declared?.type ?? type ?? '';
  const one = named.replace(/\[\]$/, '');
  const single: Schema = {
    ...schemas[(declared?.type === undefined ? declarable[one] : one) as VariableType],
  };
  if (labels !== undefined && labels.length > 0) Object.assign(single, ofEnum(labels));
  if (declared?.enumJson !== undefined)
    single.enum = elementsOf(declared.enumJson).map((json) => (json === 'null' ? null : JsonText.of(json)));
  const isList = list ?? named.endsWith('[]');
  const takesNull = nullable ?? declared?.required !== true;
  const fallback = declared?.valueJson;
  const withDefault = fallback === undefined ? {} : { default: JsonText.of(fallback) };
  const body = isList ? { type: 'array', maxItems: listElementsMax, items: itemsOf(single) } : single;
  return {
    key,
    schema: { ...(takesNull ? orNull(body) : notNull(body)), ...withDefault },
    // The limit is on the length of the URL, not of a list.
    inUrl: declared?.type?.endsWith('[]') ? { type: 'array', items: single } : inUrl(single, declared),
    required: fallback === undefined && declared?.required !== false && isUnused !== true,
    isSecret: declared?.secret === true,
    description: declared?.description,
    example: isList ? [exampleOf(single)] : exampleOf(single),
  };
}

/** The hub parses values in a URL by their declared type alone: one without it is text. */
function inUrl(single: Schema, declared: Variable | undefined): Schema {
  if (declared?.type !== undefined || single.type !== undefined) return single;
  const texts = elementsOf(declared?.enumJson ?? '[]').filter((json) => json.startsWith('"'));
  return { type: 'string', ...(texts.length === 0 ? {} : { enum: texts.map((json) => JsonText.of(json)) }) };
}

/** A schema without `type` and `enum` accepts null. */
const notNull = (schema: Schema): Schema =>
  schema.type === undefined && schema.enum === undefined ? { ...schema, not: { type: 'null' } } : schema;

/** An enum holds for the elements of a list, null included. */
const itemsOf = (single: Schema): Schema =>
  Array.isArray(single.enum) && !single.enum.includes(null) ? single : orNull(single);

const examplesByFormat: Record<string, unknown> = {
  date: '2026-11-20',
  'date-time': '2026-11-20T13:04:05Z',
  uuid: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
};

/** A sample value for the document. */
export function exampleOf({ type, format, enum: values }: Schema): unknown {
  if (Array.isArray(values)) return values[0];
  const [first] = [type].flat();
  if (first === 'string') return examplesByFormat[String(format)] ?? 'text';
  return first === 'boolean' ? true : 1;
}

/** The schema of a row; undefined if the columns are unknown. */
export function toRowSchema(described: Described | undefined): Schema | undefined {
  if (described === undefined || described.columns.length === 0) return undefined;
  const properties = Object.fromEntries(
    described.columns.map(({ name, type, nullable, jsonType, labels }) => {
      const schema = labels !== undefined && labels.length > 0 ? ofEnum(labels) : toColumnSchema(jsonType);
      return [name, { ...(nullable === false ? schema : orNull(schema)), description: type }];
    }),
  );
  return {
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

/** An enum of the database. */
const ofEnum = (labels: readonly string[]): Schema => ({ type: 'string', enum: [...labels] });

const anyJson = ['number', 'string', 'boolean', 'object', 'array'];

/** Converts JSON types separated by bars to a schema. Unknown types become a schema that accepts any JSON. */
function toColumnSchema(jsonType: string | undefined): Schema {
  const types = (jsonType ?? '').split('|').filter((type) => anyJson.includes(type));
  if (types.length === 0 || types.length === anyJson.length) return {};
  return { type: types.length === 1 ? types[0] : types };
}

/** A schema without `type` and `enum` accepts null already. */
function orNull(schema: Schema): Schema {
  const { type, enum: values } = schema;
  if (type === undefined && values === undefined) return schema;
  return {
    ...schema,
    ...(type === undefined ? {} : { type: [...(Array.isArray(type) ? type : [type]), 'null'] }),
    ...(Array.isArray(values) ? { enum: [...values.filter((value) => value !== null), null] } : {}),
  };
}
