/** Fields of GraphQL mutations → INSERT, UPDATE and DELETE with RETURNING. */

import type { FieldNode, ObjectValueNode, ValueNode } from 'graphql';
import { relationshipOf, rootNames, type Table } from './hasura-metadata.ts';
import {
  allowColumn,
  argumentsOf,
  columnOf,
  keyOf,
  permissionOf,
  quoteName,
  readableColumn,
  type Scope,
  tableOf,
} from './hasura-scope.ts';
import { expression, selectionOf } from './hasura-select.ts';
import { filterOf, whereOf } from './hasura-where.ts';
import { Refusal } from './text-conversion.ts';

type Verb = 'insert' | 'insert_one' | 'update' | 'update_by_pk' | 'delete' | 'delete_by_pk';

export function mutation(field: FieldNode, scope: Scope): { text: string; command: string } {
  const { table, verb } = verbOf(field.name.value, scope);
  const kind = verb.split('_')[0] as 'insert' | 'update' | 'delete';
  requirePlain(table, kind, scope);
  const returning = returningOf(field, { table, isOne: /_(?:one|by_pk)$/.test(verb) }, scope);
  const text =
    kind === 'insert' ? insert(field, { table, verb }, scope) : change(field, { table, verb }, scope);
  return { text: text + returning, command: kind.toUpperCase() };
}

function requirePlain(table: Table, kind: 'insert' | 'update' | 'delete', { role }: Scope): void {
  const { check, set } = permissionOf(table, kind, role);
  if (Object.keys(check ?? {}).length > 0 || Object.keys(set ?? {}).length > 0)
    throw new Refusal(
      `The role ${role} has checks or presets for ${table.base}, which policies of the database can hold.`,
    );
}

function verbOf(name: string, scope: Scope): { table: Table; verb: Verb } {
  for (const table of scope.metadata.tables) {
    if (table.source?.isCustomized === true) continue;
    const { base } = table;
    const names: Record<Verb, string> = {
      insert: `insert_${base}`,
      insert_one: `insert_${base}_one`,
      update: `update_${base}`,
      update_by_pk: `update_${base}_by_pk`,
      delete: `delete_${base}`,
      delete_by_pk: `delete_${base}_by_pk`,
    };
    const verb = rootNames(table, names).find((one) => one.name === name)?.kind;
    if (verb === undefined) continue;
    scope.enter(table, verb);
    return { table, verb };
  }
  throw new Refusal(`${name} is no mutation of a table of the metadata.`);
}

interface Target {
  table: Table;
  verb: Verb;
}

function insert(field: FieldNode, { table, verb }: Target, scope: Scope): string {
  const found = argumentsOf(field, ['object', 'objects', 'on_conflict']);
  const given = verb === 'insert_one' ? found.object : found.objects;
  const list = given?.kind === 'ListValue' ? given.values : given === undefined ? [] : [given];
  const rows = list.map((one) => assignments(one, { table, kind: 'insert' }, scope));
  const columns = rows[0]?.map(({ column }) => column) ?? [];
  if (rows.length === 0 || rows.some((row) => row.map(({ column }) => column).join() !== columns.join()))
    throw new Refusal('The objects have different members. Make a query of each form.');
  const values = rows.map((row) => `(${row.map(({ value }) => value).join(', ')})`);
  const target = `INSERT INTO ${tableOf(table)} AS "t" (${columns.map(quoteName).join(', ')}) VALUES ${values.join(', ')}`;
  return target + conflict(found.on_conflict, table, scope);
}

function conflict(node: ValueNode | undefined, table: Table, scope: Scope): string {
  if (node === undefined) return '';
  const members = Object.fromEntries(objectOf(node).fields.map((one) => [one.name.value, one.value]));
  const { constraint, update_columns: columns, where } = members;
  if (constraint?.kind !== 'EnumValue' || (columns !== undefined && columns.kind !== 'ListValue'))
    throw new Refusal('on_conflict is chosen by the caller.');
  const names = (columns?.values ?? []).map((one) => {
    if (one.kind !== 'EnumValue') throw new Refusal('on_conflict is chosen by the caller.');
    return columnOf(table, one.value);
  });
  const on = ` ON CONFLICT ON CONSTRAINT ${quoteName(constraint.value)}`;
  if (names.length === 0) return `${on} DO NOTHING`;
  // An existing row may be changed only as the role may update it.
  requirePlain(table, 'update', scope);
  const permission = permissionOf(table, 'update', scope.role);
  const sets = names
    .map((name) => quoteName(allowColumn(table, name, { permission, role: scope.role })))
    .map((name) => `${name} = EXCLUDED.${name}`);
  const conditions = [
    whereOf(where, { table, alias: '"t"', isWritten: true }, scope),
    filterOf({ table, alias: '"t"', kind: 'update' }, scope),
  ].filter((one) => one !== 'TRUE');
  const condition = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  return `${on} DO UPDATE SET ${sets.join(', ')}${condition}`;
}

function change(field: FieldNode, { table, verb }: Target, scope: Scope): string {
  const isByKey = verb.endsWith('_by_pk');
  const isUpdate = verb.startsWith('update');
  const keyNames = isByKey && !isUpdate ? (field.arguments ?? []).map((one) => one.name.value) : [];
  const selecting = isByKey ? (isUpdate ? ['pk_columns'] : keyNames) : ['where'];
  const found = argumentsOf(field, [...selecting, ...(isUpdate ? ['_set', '_inc'] : [])]);
  const keys: [string, ValueNode][] =
    isUpdate && found.pk_columns !== undefined
      ? objectOf(found.pk_columns).fields.map((one) => [one.name.value, one.value])
      : keyNames.map((name) => [name, found[name] as ValueNode]);
  if (isByKey ? keys.length === 0 : found.where === undefined)
    throw new Refusal(
      `${field.name.value} has no ${isByKey ? 'key' : 'condition'}: all rows would be changed.`,
    );
  const conditions = [
    ...keys.map(
      ([name, value]) => `"t".${quoteName(readableColumn(table, name, scope))} = ${scope.value(value)}`,
    ),
    isByKey ? 'TRUE' : whereOf(found.where, { table, alias: '"t"', isWritten: true }, scope),
    filterOf({ table, alias: '"t"', kind: isUpdate ? 'update' : 'delete' }, scope),
  ].filter((one) => one !== 'TRUE');
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  if (!isUpdate) return `DELETE FROM ${tableOf(table)} AS "t"${where}`;
  const sets = [
    ...(found._set === undefined ? [] : assignments(found._set, { table, kind: 'update' }, scope)),
    ...(found._inc === undefined ? [] : assignments(found._inc, { table, kind: 'update' }, scope)).map(
      ({ column, value }) => ({
        column,
        value: `"t".${quoteName(column)} + ${value}`,
      }),
    ),
  ];
  if (sets.length === 0) throw new Refusal('Nothing is set.');
  return `UPDATE ${tableOf(table)} AS "t" SET ${sets.map(({ column, value }) => `${quoteName(column)} = ${value}`).join(', ')}${where}`;
}

function objectOf(node: ValueNode): ObjectValueNode {
  if (node.kind !== 'ObjectValue')
    throw new Refusal(
      'A whole object in a variable is composed by the caller. List its members, each with a variable.',
    );
  return node;
}

function assignments(
  node: ValueNode,
  { table, kind }: { table: Table; kind: 'insert' | 'update' },
  scope: Scope,
): { column: string; value: string }[] {
  return objectOf(node).fields.map(({ name, value }) => {
    if (relationshipOf(table, name.value, scope.metadata) !== undefined)
      throw new Refusal(`${name.value} inserts into another table. Write WITH, or a transaction.`);
    if (scope.canBeAbsent(value))
      throw new Refusal(
        `The variable of ${name.value} can be left out, and then the column keeps its value or default. Declare it with "!".`,
      );
    const column = allowColumn(table, columnOf(table, name.value), {
      permission: permissionOf(table, kind, scope.role),
      role: scope.role,
    });
    return { column, value: scope.value(value) };
  });
}

const answered = ['affected_rows', 'returning', '__typename'];

/** `affected_rows` is in every answer of the hub, so only the rows need SQL. */
function returningOf(
  field: FieldNode,
  { table, isOne }: { table: Table; isOne: boolean },
  scope: Scope,
): string {
  const fields = scope.fields(selectionOf(field));
  const rows = fields.filter(({ name }) => name.value === 'returning');
  if (!isOne && (rows.length > 1 || fields.some(({ name }) => !answered.includes(name.value))))
    throw new Refusal(`${field.name.value} answers more than its rows and their count.`);
  if (!isOne && rows[0] === undefined) return '';
  const columns = (isOne ? fields : scope.fields(selectionOf(rows[0] as FieldNode))).map((one) => {
    if (relationshipOf(table, one.name.value, scope.metadata) !== undefined)
      throw new Refusal(`${one.name.value} is read after the change. Read it with a second query.`);
    return `${expression(one, { table, alias: '"t"' }, scope)} AS ${quoteName(keyOf(one))}`;
  });
  return ` RETURNING ${columns.join(', ')}`;
}
