import type { CollectionSpec } from './document-store.ts';

export interface UniqueWithin {
  field: string;
  within?: string;
}

/** A specification with all lists present, including derived ones. */
export interface Shape {
  name: string;
  indexes: readonly string[];
  /** Absent if there are none, as are the members below that can be absent. */
  pairs?: readonly (readonly [string, string])[];
  unique: readonly string[];
  /** Absent if there is none, so that the specifications of other collections stay the same text. */
  uniqueWithin?: readonly UniqueWithin[];
  counters: readonly string[];
  bytes: readonly string[];
  summaryBy: string | undefined;
  summaryFields: readonly string[];
  expires: string | undefined;
  due?: string;
  expiresBy?: string;
  fresh?: readonly string[];
  outbox?: true;
  /** Fields with a copy outside of the body: indexed, unique, summary, due and expiry fields, without duplicates. */
  fields: readonly string[];
}

/** True if documents that were written with the known specification lack copies of fields. */
export function isStale(knownSpec: string, shape: Shape): boolean {
  const known = JSON.parse(knownSpec) as Shape;
  const isCopied = (field: string) => known.fields.includes(field) || shape.fresh?.includes(field);
  return (
    !shape.fields.every(isCopied) || JSON.stringify(known.uniqueWithin) !== JSON.stringify(shape.uniqueWithin)
  );
}

const namePattern = /^[a-z][A-Za-z0-9]{0,62}$/;
const reserved = new Set(['id', 'accountId', 'version', 'body', 'pending', 'outbox']);

/** Throws a plain error for an invalid specification, which is a bug of the program. */
export function toShapes(specs: readonly CollectionSpec[]): Shape[] {
  const shapes = specs.map(toShape);
  const names = new Set(shapes.map((shape) => shape.name.toLowerCase()));
  if (names.size !== shapes.length) throw new TypeError('Two collections have the same name.');
  return shapes;
}

function toShape(spec: CollectionSpec): Shape {
  const {
    name,
    indexes = [],
    unique = [],
    counters = [],
    bytes = [],
    summary,
    expires,
    due,
    expiresBy,
  } = spec;
  const summaryFields = summary?.fields ?? [];
  const times = [expires, due, expiresBy].filter((name) => name !== undefined);
  const fields = [...new Set([...indexes, ...unique, ...summaryFields, ...times])];
  checkNames(name, [...fields, ...counters, ...bytes]);
  if (summary?.by !== undefined && !indexes.includes(summary.by)) {
    throw new TypeError(`Collection ${name}: the summary is by ${summary.by}, which is not an index.`);
  }
  for (const field of (spec.pairs ?? []).flat()) {
    if (!indexes.includes(field))
      throw new TypeError(`Collection ${name}: ${field} is in a pair, but not an index.`);
  }
  for (const { field, within = field } of spec.uniqueWithin ?? []) {
    if (!indexes.includes(field) || !indexes.includes(within))
      throw new TypeError(
        `Collection ${name}: ${field} is unique within ${within}, but one is not an index.`,
      );
  }
  return {
    name,
    indexes,
    ...(spec.pairs === undefined ? {} : { pairs: spec.pairs }),
    unique,
    ...(spec.uniqueWithin === undefined ? {} : { uniqueWithin: spec.uniqueWithin }),
    counters,
    bytes,
    summaryBy: summary?.by,
    summaryFields,
    expires,
    ...(due === undefined ? {} : { due }),
    ...(expiresBy === undefined ? {} : { expiresBy }),
    ...(spec.fresh === undefined ? {} : { fresh: spec.fresh }),
    ...(spec.outbox ? { outbox: true as const } : {}),
    fields,
  };
}

function checkNames(name: string, fields: string[]): void {
  for (const word of [name, ...fields]) {
    if (!namePattern.test(word)) throw new TypeError(`Collection ${name}: ${word} is not a usable name.`);
  }
  const folded = new Set(fields.map((field) => field.toLowerCase()));
  if (folded.size !== fields.length || fields.some((field) => reserved.has(field))) {
    throw new TypeError(`Collection ${name}: a field is named twice or has a reserved name.`);
  }
}

/** Throws a plain error for an undeclared name, which is a bug of the program. */
export function checkDeclared(shape: Shape, list: 'unique' | 'counters', name: string): void {
  if (!shape[list].includes(name)) throw new TypeError(`${shape.name} does not list ${name} in ${list}.`);
}

/** Throws unless the collection declares an outbox. */
export function checkOutbox(shape: Shape): void {
  if (shape.outbox !== true) throw new TypeError(`${shape.name} does not declare an outbox.`);
}
