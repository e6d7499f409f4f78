/** Hasura's boolean expressions → conditions of PostgreSQL: `where` of operations, and `filter` of permissions. */

import type { ObjectFieldNode, ObjectValueNode, ValueNode } from 'graphql';
import { ExactNumber } from '../exact-numbers.ts';
import { findTable, relationshipOf, type Table, toName } from './hasura-metadata.ts';
import {
  isComputed,
  permissionOf,
  quoteName,
  quoteText,
  readableColumn,
  type Scope,
  tableOf,
} from './hasura-scope.ts';
import { isRecord } from './read-export.ts';
import { Refusal } from './text-conversion.ts';

const operators: Readonly<Record<string, string>> = {
  ...{ _eq: '=', _neq: '<>', _ne: '<>', _gt: '>', _lt: '<', _gte: '>=', _lte: '<=' },
  ...{ _like: 'LIKE', _nlike: 'NOT LIKE', _ilike: 'ILIKE', _nilike: 'NOT ILIKE' },
  ...{ _similar: 'SIMILAR TO', _nsimilar: 'NOT SIMILAR TO' },
  ...{ _regex: '~', _nregex: '!~', _iregex: '~*', _niregex: '!~*' },
  ...{ _contains: '@>', _contained_in: '<@' },
};

interface Place {
  table: Table;
  /** What the columns are qualified with. */
  alias: string;
  /** True if the rows are changed: a condition that is left out would change all of them. */
  isWritten?: boolean;
}

/** `where` of an operation. An empty one is true. */
export function whereOf(node: ValueNode | undefined, place: Place, scope: Scope): string {
  if (node === undefined) return 'TRUE';
  if (node.kind !== 'ObjectValue')
    throw new Refusal(
      'A whole condition in a variable is composed by the caller. Make a query of each form.',
    );
  return allOf(
    (node as ObjectValueNode).fields.map(({ name, value }) => member(name.value, value, { ...place, scope })),
  );
}

const allOf = (conditions: string[]): string => {
  const parts = conditions.filter((one) => one !== 'TRUE');
  return parts.length === 0 ? 'TRUE' : parts.length === 1 ? (parts[0] as string) : `(${parts.join(' AND ')})`;
};
const anyOf = (conditions: string[]): string =>
  conditions.length === 0 ? 'FALSE' : `(${conditions.join(' OR ')})`;

type Context = Place & { scope: Scope };

function member(name: string, value: ValueNode, context: Context): string {
  const { table, alias, scope } = context;
  const list = value.kind === 'ListValue' ? value.values : [value];
  if (name === '_and') return allOf(list.map((one) => whereOf(one, context, scope)));
  if (name === '_or') return anyOf(list.map((one) => whereOf(one, context, scope)));
  if (name === '_not') return `NOT (${whereOf(value, context, scope)})`;
  const relationship = relationshipOf(table, name, scope.metadata);
  if (typeof relationship === 'string') throw new Refusal(relationship);
  if (relationship !== undefined) {
    const { to, on } = relationship;
    const inner = scope.alias('w');
    const conditions = [
      ...on.map(([ours, theirs]) => `${inner}.${quoteName(theirs)} = ${alias}.${quoteName(ours)}`),
      filterOf({ table: to, alias: inner }, scope),
      whereOf(value, { ...context, table: to, alias: inner }, scope),
    ];
    return `EXISTS (SELECT 1 FROM ${tableOf(to)} AS ${inner} WHERE ${allOf(conditions)})`;
  }
  if (name.endsWith('_aggregate')) throw new Refusal(`${name} is computed. Write its condition out.`);
  if (value.kind !== 'ObjectValue') throw new Refusal(`The condition of ${name} is composed by the caller.`);
  const left = `${alias}.${quoteName(readableColumn(table, name, scope))}`;
  for (const one of value.fields)
    if (context.isWritten === true && scope.canBeAbsent(one.value))
      throw new Refusal(
        `The variable of ${name} can be left out, and then all rows would be changed. Declare it with "!".`,
      );
  return allOf(value.fields.map((one) => compare(left, one, scope)));
}

function compare(left: string, { name: { value: operator }, value }: ObjectFieldNode, scope: Scope): string {
  // A variable that is left out leaves out its member, and nothing compared is true.
  const optional = (condition: string) =>
    scope.canBeAbsent(value) ? `(${condition} OR ${scope.value(value)} IS NULL)` : condition;
  if (value.kind === 'NullValue')
    throw new Refusal(`${operator}: null is an error or true, which depends on a setting of Hasura.`);
  if (operator === '_in' || operator === '_nin') {
    if (value.kind === 'ListValue' && value.values.length === 0) return operator === '_in' ? 'FALSE' : 'TRUE';
    const list = value.kind === 'ListValue' ? value.values : [value];
    const values = list.map((one) => scope.value(one)).join(', ');
    return optional(`${left} ${operator === '_in' ? 'IN' : 'NOT IN'} (${values})`);
  }
  if (operator === '_is_null') {
    if (value.kind === 'BooleanValue') return `${left} IS ${value.value ? '' : 'NOT '}NULL`;
    return optional(`(${left} IS NULL) = ${scope.value(value)}`);
  }
  const sign = operators[operator];
  if (sign === undefined) throw new Refusal(`The operator ${operator} has no counterpart here.`);
  return optional(`${left} ${sign} ${scope.value(value)}`);
}

/** The rows that the role may see. */
export function filterOf(
  { table, alias, kind = 'select' }: Place & { kind?: 'select' | 'update' | 'delete' },
  scope: Scope,
): string {
  return permitted(permissionOf(table, kind, scope.role).filter, { table, alias, scope });
}

function permitted(filter: unknown, context: Context): string {
  if (!isRecord(filter)) throw new Refusal('A permission has a filter of an unknown form.');
  return allOf(
    Object.entries(filter).map(([name, value]) => permittedMember(name.replace(/^\$/, '_'), value, context)),
  );
}

function permittedMember(name: string, value: unknown, context: Context): string {
  const { table, alias, scope } = context;
  if (name === '_and') return allOf([value].flat().map((one) => permitted(one, context)));
  if (name === '_or') return anyOf([value].flat().map((one) => permitted(one, context)));
  if (name === '_not') return `NOT (${permitted(value, context)})`;
  if (name === '_exists' && isRecord(value)) {
    const other = toName(value._table);
    const to = findTable(other, table, scope.metadata);
    if (to === undefined) throw new Refusal(`The table ${other.name} of a permission is not tracked.`);
    const inner = scope.alias('w');
    return `EXISTS (SELECT 1 FROM ${tableOf(to)} AS ${inner} WHERE ${permitted(value._where, { table: to, alias: inner, scope })})`;
  }
  const relationship = relationshipOf(table, name, scope.metadata);
  if (typeof relationship === 'string') throw new Refusal(relationship);
  if (relationship !== undefined) {
    const { to, on } = relationship;
    const inner = scope.alias('w');
    const joined = on.map(([ours, theirs]) => `${inner}.${quoteName(theirs)} = ${alias}.${quoteName(ours)}`);
    const rest = permitted(value, { table: to, alias: inner, scope });
    return `EXISTS (SELECT 1 FROM ${tableOf(to)} AS ${inner} WHERE ${allOf([...joined, rest])})`;
  }
  if (isComputed(table, name))
    throw new Refusal(`A permission has the condition ${name}, which is computed, or in another source.`);
  const left = `${alias}.${quoteName(name)}`;
  const members = isRecord(value) ? value : { _eq: value };
  return allOf(Object.entries(members).map((one) => permittedCompare(left, one, scope)));
}

function permittedCompare(left: string, [name, value]: [string, unknown], scope: Scope): string {
  const operator = name.replace(/^\$/, '_');
  const isList = operator === '_in' || operator === '_nin';
  const toSql = (one: unknown): string => {
    if (typeof one === 'string' && /^x-hasura-/i.test(one)) return scope.session(one);
    if (typeof one === 'string') return quoteText(one);
    if (typeof one === 'number' || typeof one === 'boolean' || one instanceof ExactNumber) return String(one);
    throw new Refusal('A permission compares with a value of an unknown form.');
  };
  if (operator === '_is_null' && typeof value === 'boolean') return `${left} IS ${value ? '' : 'NOT '}NULL`;
  if (isList) {
    const list = [value].flat();
    if (list.length === 0) return operator === '_in' ? 'FALSE' : 'TRUE';
    return `${left} ${operator === '_in' ? 'IN' : 'NOT IN'} (${list.map(toSql).join(', ')})`;
  }
  const sign = operators[operator];
  if (sign === undefined)
    throw new Refusal(`The operator ${operator} of a permission has no counterpart here.`);
  return `${left} ${sign} ${toSql(value)}`;
}
