/** Fields of GraphQL queries → SELECT statements of PostgreSQL. Rows inside rows become JSON, as Hasura answers them. */

import type { FieldNode, SelectionSetNode, ValueNode } from 'graphql';
import { ExactNumber } from '../exact-numbers.ts';
import { type Relationship, relationshipOf, rootNames, type Table } from './hasura-metadata.ts';
import {
  argumentsOf,
  keyOf,
  permissionOf,
  quoteName,
  quoteText,
  readableColumn,
  type Scope,
  tableOf,
} from './hasura-scope.ts';
import { filterOf, whereOf } from './hasura-where.ts';
import { Refusal } from './text-conversion.ts';

const listArguments = ['where', 'order_by', 'limit', 'offset', 'distinct_on'];

/** A root field, as a statement whose rows are the answer. */
export function rootSelect(field: FieldNode, scope: Scope): string {
  const { table, form } = rootOf(field.name.value, scope);
  const selection = selectionOf(field);
  if (form === 'aggregate') return `SELECT ${aggregate(field, { table, join: [] }, scope)}`;
  if (form === 'one') {
    const alias = scope.alias('t');
    const where = (field.arguments ?? []).map(
      ({ name, value }) =>
        `${alias}.${quoteName(readableColumn(table, name.value, scope))} = ${scope.value(value)}`,
    );
    if (where.length === 0) throw new Refusal(`${field.name.value} has no key.`);
    return select(selection, { table, alias, where, rest: '' }, scope);
  }
  return listSelect(field, { table, join: [] }, scope);
}

/** Several root fields, or one for JSON, as an expression. */
export function rootValue(field: FieldNode, scope: Scope): string {
  const { form } = rootOf(field.name.value, scope);
  const rows = scope.alias('r');
  const inner = rootSelect(field, scope);
  if (form === 'list') return `(SELECT COALESCE(json_agg(${rows}), '[]'::json) FROM (${inner}) AS ${rows})`;
  return `(SELECT row_to_json(${rows}) FROM (${inner}) AS ${rows})`;
}

const forms = { select: 'list', select_by_pk: 'one', select_aggregate: 'aggregate' } as const;

function rootOf(name: string, scope: Scope): { table: Table; form: (typeof forms)[keyof typeof forms] } {
  for (const table of scope.metadata.tables) {
    if (table.source?.isCustomized === true) continue;
    const { base } = table;
    const names = { select: base, select_by_pk: `${base}_by_pk`, select_aggregate: `${base}_aggregate` };
    const kind = rootNames(table, names).find((one) => one.name === name)?.kind;
    if (kind === undefined) continue;
    scope.enter(table, kind);
    return { table, form: forms[kind] };
  }
  throw new Refusal(
    `${name} is no table of the metadata. Functions, actions, remote schemas and sources with names of their own have no SQL here.`,
  );
}

export function selectionOf({ selectionSet, name }: FieldNode): SelectionSetNode {
  if (selectionSet === undefined) throw new Refusal(`${name.value} has no fields.`);
  return selectionSet;
}

interface Rows {
  table: Table;
  /** The alias outside, and the columns of a relationship. */
  join: { outer: string; on: Relationship['on'] }[];
}

function listSelect(field: FieldNode, { table, join }: Rows, scope: Scope): string {
  const found = argumentsOf(field, listArguments);
  const alias = scope.alias('t');
  const where = [...joinOf(join, alias), whereOf(found.where, { table, alias }, scope)];
  const distinct = columnsOf(found.distinct_on, { table, alias }, scope);
  return select(
    selectionOf(field),
    { table, alias, where, rest: tail(found, { table, alias }, scope), distinct },
    scope,
  );
}

const joinOf = (join: Rows['join'], alias: string): string[] =>
  join.flatMap(({ outer, on }) =>
    on.map(([ours, theirs]) => `${alias}.${quoteName(theirs)} = ${outer}.${quoteName(ours)}`),
  );

interface Select {
  table: Table;
  alias: string;
  where: string[];
  rest: string;
  distinct?: string | undefined;
}

function select(
  selection: SelectionSetNode,
  { table, alias, where, rest, distinct }: Select,
  scope: Scope,
): string {
  const columns = scope
    .fields(selection)
    .map((field) => `${expression(field, { table, alias }, scope)} AS ${quoteName(keyOf(field))}`);
  const conditions = [...where, filterOf({ table, alias }, scope)].filter((one) => one !== 'TRUE');
  return [
    `SELECT ${distinct === undefined ? '' : `DISTINCT ON (${distinct}) `}${columns.join(', ')}`,
    ` FROM ${tableOf(table)} AS ${alias}`,
    conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`,
    rest,
  ].join('');
}

/** A column, or the rows of a relationship as JSON. */
export function expression(
  field: FieldNode,
  { table, alias }: { table: Table; alias: string },
  scope: Scope,
): string {
  const name = field.name.value;
  if (name === '__typename') return quoteText(table.base);
  const total = /^(.+)_aggregate$/.exec(name)?.[1];
  const relationship = relationshipOf(table, total ?? name, scope.metadata);
  if (typeof relationship === 'string') throw new Refusal(relationship);
  if (relationship !== undefined) {
    const { to, on, isList } = relationship;
    const rows = { table: to, join: [{ outer: alias, on }] };
    const outer = scope.alias('r');
    if (total !== undefined)
      return `(SELECT row_to_json(${outer}) FROM (SELECT ${aggregate(field, rows, scope)}) AS ${outer})`;
    const inner = listSelect(field, rows, scope);
    return isList
      ? `(SELECT COALESCE(json_agg(${outer}), '[]'::json) FROM (${inner}) AS ${outer})`
      : `(SELECT row_to_json(${outer}) FROM (${inner}) AS ${outer})`;
  }
  argumentsOf(field, []);
  return `${alias}.${quoteName(readableColumn(table, name, scope))}`;
}

/** `aggregate` and `nodes` as columns. */
function aggregate(field: FieldNode, { table, join }: Rows, scope: Scope): string {
  if (permissionOf(table, 'select', scope.role).allow_aggregations !== true)
    throw new Refusal(`The role ${scope.role} may not aggregate ${table.base}.`);
  return scope
    .fields(selectionOf(field))
    .map((part) => {
      const key = quoteName(keyOf(part));
      if (part.name.value === '__typename') return `${quoteText(`${table.base}_aggregate`)} AS ${key}`;
      const inner = { ...field, selectionSet: part.selectionSet } as FieldNode;
      if (part.name.value === 'nodes') {
        const rows = scope.alias('r');
        return `(SELECT COALESCE(json_agg(${rows}), '[]'::json) FROM (${listSelect(inner, { table, join }, scope)}) AS ${rows}) AS ${key}`;
      }
      return `(${totals(inner, { table, join }, scope)}) AS ${key}`;
    })
    .join(', ');
}

function totals(field: FieldNode, { table, join }: Rows, scope: Scope): string {
  const found = argumentsOf(field, listArguments);
  const alias = scope.alias('t');
  const rows = scope.alias('r');
  const one = (part: FieldNode): string => {
    const name = part.name.value;
    if (name === '__typename') return quoteText(`${table.base}_aggregate_fields`);
    if (name === 'count') {
      const { columns, distinct } = argumentsOf(part, ['columns', 'distinct']);
      const list = columnsOf(columns, { table, alias: rows }, scope);
      const isDistinct = distinct?.kind === 'BooleanValue' && distinct.value;
      if (distinct?.kind === 'Variable') throw new Refusal('distinct of count is chosen by the caller.');
      if (list?.includes(',')) throw new Refusal('count of several columns has no counterpart here.');
      return `count(${list === undefined ? '*' : `${isDistinct ? 'DISTINCT ' : ''}${list}`})`;
    }
    if (!/^(?:sum|avg|min|max|stddev|stddev_pop|stddev_samp|var_pop|var_samp|variance)$/.test(name))
      throw new Refusal(`The aggregate ${name} has no counterpart here.`);
    const members = scope.fields(selectionOf(part)).map((column) => {
      const key = quoteText(keyOf(column));
      if (column.name.value === '__typename') return `${key}, ${quoteText(`${table.base}_${name}_fields`)}`;
      return `${key}, ${name}(${rows}.${quoteName(readableColumn(table, column.name.value, scope))})`;
    });
    return `json_build_object(${members.join(', ')})`;
  };
  const members = scope.fields(selectionOf(field)).map((part) => `${quoteText(keyOf(part))}, ${one(part)}`);
  const conditions = [
    ...joinOf(join, alias),
    whereOf(found.where, { table, alias }, scope),
    filterOf({ table, alias }, scope),
  ];
  const where = conditions.filter((condition) => condition !== 'TRUE');
  const distinct = columnsOf(found.distinct_on, { table, alias }, scope);
  return `SELECT json_build_object(${members.join(', ')}) FROM (SELECT ${distinct === undefined ? '' : `DISTINCT ON (${distinct}) `}${alias}.* FROM ${tableOf(table)} AS ${alias}${where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`}${tail(found, { table, alias, isSummed: true }, scope)}) AS ${rows}`;
}

function columnsOf(
  node: ValueNode | undefined,
  { table, alias }: { table: Table; alias: string },
  scope: Scope,
): string | undefined {
  if (node === undefined) return undefined;
  const list = node.kind === 'ListValue' ? node.values : [node];
  const names = list.map((one) => {
    if (one.kind !== 'EnumValue')
      throw new Refusal('Columns are chosen by the caller. Make a query of each choice.');
    return `${alias}.${quoteName(readableColumn(table, one.value, scope))}`;
  });
  return names.length === 0 ? undefined : names.join(', ');
}

/** ORDER BY, LIMIT and OFFSET. The limit of a permission is that of rows, so sums and counts are of all rows. */
function tail(
  found: Record<string, ValueNode>,
  { table, alias, isSummed = false }: { table: Table; alias: string; isSummed?: boolean },
  scope: Scope,
): string {
  const { order_by: order, limit, offset } = found;
  const list = order === undefined ? [] : order.kind === 'ListValue' ? order.values : [order];
  const sorted = list.flatMap((one) => {
    if (one.kind !== 'ObjectValue')
      throw new Refusal('The order is chosen by the caller. Make a query of each order.');
    return one.fields.map(({ name, value }) => {
      if (value.kind !== 'EnumValue')
        throw new Refusal(`The order by ${name.value} is of another table, or chosen by the caller.`);
      const words = value.value.replace(/^(asc|desc)(?:_nulls_(first|last))?$/, (_, way, nulls) =>
        nulls === undefined ? way : `${way} nulls ${nulls}`,
      );
      return `${alias}.${quoteName(readableColumn(table, name.value, scope))} ${words.toUpperCase()}`;
    });
  });
  const most = permissionOf(table, 'select', scope.role).limit ?? undefined;
  if (most !== undefined && typeof most !== 'number' && !(most instanceof ExactNumber))
    throw new Refusal('A permission has a limit of an unknown form.');
  const limits = [
    ...(limit === undefined ? [] : [scope.value(limit)]),
    ...(most === undefined || isSummed ? [] : [String(most)]),
  ];
  return [
    sorted.length === 0 ? '' : ` ORDER BY ${sorted.join(', ')}`,
    limits.length === 0 ? '' : ` LIMIT ${limits.length === 1 ? limits[0] : `LEAST(${limits.join(', ')})`}`,
    offset === undefined ? '' : ` OFFSET ${scope.value(offset)}`,
  ].join('');
}
