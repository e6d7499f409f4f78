/** What all parts of an operation share while it becomes SQL: its variables, fragments and names of tables. */

import {
  type FieldNode,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
  print,
  type SelectionSetNode,
  type TypeNode,
  type ValueNode,
  type VariableDefinitionNode,
} from 'graphql';
import { exactNumber, writeExact } from '../exact-numbers.ts';
import { type Metadata, onlySource, type Source, sourceOf, type Table } from './hasura-metadata.ts';
import type { Loose } from './read-export.ts';
import { Refusal } from './text-conversion.ts';
import { type Traits, Variables } from './variables.ts';

export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;
export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`;
export const keyOf = ({ alias, name }: FieldNode): string => alias?.value ?? name.value;
export const tableOf = ({ schema, name }: Table): string => `${quoteName(schema)}.${quoteName(name)}`;

const types: Readonly<Record<string, Traits['type']>> = {
  ...{
    Int: 'integer',
    Float: 'number',
    String: 'string',
    Boolean: 'boolean',
    uuid: 'uuid',
    bigint: 'bigint',
  },
  ...{ numeric: 'decimal', date: 'date', timestamptz: 'timestamp', jsonb: 'json', json: 'json' },
};

export class Scope {
  readonly metadata: Metadata;
  readonly role: string;
  readonly notes = new Set<string>();
  readonly #variables = new Variables();
  readonly #operation: OperationDefinitionNode['operation'];
  readonly #declared: Map<string, VariableDefinitionNode>;
  readonly #fragments: Map<string, FragmentDefinitionNode>;
  #source: Source | undefined;
  #aliases = 0;

  constructor(
    { metadata, role }: { metadata: Metadata; role: string },
    definition: OperationDefinitionNode,
    fragments: readonly FragmentDefinitionNode[],
  ) {
    this.metadata = metadata;
    this.role = role;
    this.#operation = definition.operation;
    this.#declared = new Map(
      (definition.variableDefinitions ?? []).map((one) => [one.variable.name.value, one]),
    );
    this.#fragments = new Map(fragments.map((one) => [one.name.value, one]));
  }

  context() {
    return this.#variables.context();
  }

  alias(prefix: string): string {
    return quoteName(`${prefix}${this.#aliases++}`);
  }

  /** The source of the root fields. */
  get source(): Source {
    return this.#source ?? onlySource;
  }

  /** The operation has a root field of the table. */
  enter(table: Table, kind: string): void {
    const source = sourceOf(table, this.metadata);
    if (source === undefined)
      throw new Refusal(`The metadata do not say in which source the table ${table.base} is.`);
    this.#source ??= source;
    if (source !== this.#source)
      throw new Refusal('Its fields are in several sources. Make a query of each source.');
    if (this.#operation === 'mutation') return;
    const visible = permissionOf(table, 'select', this.role)[`${this.#operation}_root_fields`];
    if (Array.isArray(visible) && !visible.includes(kind))
      throw new Refusal(`The role ${this.role} may not use this field of ${table.base}.`);
  }

  /** The fields of a selection with those of its fragments. Fields of one name have the members of both. */
  fields(selection: SelectionSetNode): FieldNode[] {
    const found = new Map<string, FieldNode>();
    for (const field of this.#flat(selection)) {
      const known = found.get(keyOf(field));
      if (known === undefined) found.set(keyOf(field), field);
      else if (withoutMembers(known) !== withoutMembers(field))
        throw new Refusal(`Two different fields have the name ${keyOf(field)}.`);
      else if (known.selectionSet !== undefined && field.selectionSet !== undefined) {
        const selections = [...known.selectionSet.selections, ...field.selectionSet.selections];
        found.set(keyOf(field), { ...known, selectionSet: { ...known.selectionSet, selections } });
      }
    }
    return [...found.values()];
  }

  #flat({ selections }: SelectionSetNode): FieldNode[] {
    return selections.flatMap((one) => {
      if (one.directives !== undefined && one.directives.length > 0)
        throw new Refusal(
          'Directives such as @include choose fields at run time. Make a query of each choice.',
        );
      if (one.kind === 'Field') return [one];
      const set =
        one.kind === 'InlineFragment' ? one.selectionSet : this.#fragments.get(one.name.value)?.selectionSet;
      if (set === undefined) throw new Refusal('A fragment is not in the document.');
      return this.#flat(set);
    });
  }

  /** Whether a value can be left out, which Hasura takes as if its member were not there. */
  canBeAbsent(value: ValueNode): boolean {
    if (value.kind !== 'Variable') return false;
    const declared = this.#declared.get(value.name.value);
    return declared?.type.kind !== 'NonNullType' && declared?.defaultValue === undefined;
  }

  /** A value as SQL: a variable or a literal. */
  value(node: ValueNode): string {
    switch (node.kind) {
      case 'Variable':
        return this.#use(node.name.value);
      case 'IntValue':
      case 'FloatValue':
        return node.value;
      case 'StringValue':
        return quoteText(node.value);
      case 'EnumValue':
        return quoteText(node.value);
      case 'BooleanValue':
        return String(node.value);
      case 'NullValue':
        return 'NULL';
      case 'ListValue':
        throw new Refusal(
          'A list is an array or JSON, as its column is. Write a variable, or the text of one.',
        );
      default:
        return `${quoteText(writeExact(plainValue(node)))}::jsonb`;
    }
  }

  /** X-Hasura-User-Id is what the caller's claims say. */
  session(name: string): string {
    const key = name.toLowerCase().replaceAll('-', '_');
    if (key === 'x_hasura_role') return quoteText(this.role);
    if (this.#declared.has(key))
      throw new Refusal(`The variable $${key} has the name of one of the session. Rename it.`);
    this.notes.add(
      `${key} was filled from the session. Pin it with claims of signed-in users or with the key's context.`,
    );
    return this.#variables.use(key, { required: true });
  }

  #use(name: string): string {
    const declared = this.#declared.get(name);
    if (declared === undefined) throw new Refusal(`The variable $${name} is not declared.`);
    const isRequired = declared.type.kind === 'NonNullType' && declared.defaultValue === undefined;
    const type = typeOf(declared.type);
    const fallback = declared.defaultValue === undefined ? null : plainValue(declared.defaultValue);
    return this.#variables.use(name, {
      ...(type === undefined ? {} : { type }),
      ...(isRequired ? { required: true } : { value: fallback }),
    });
  }
}

const withoutMembers = (field: FieldNode): string => print({ ...field, selectionSet: undefined });

/** Types that the hub does not name are inferred by the database. */
function typeOf(node: TypeNode): Traits['type'] {
  if (node.kind === 'NonNullType') return typeOf(node.type);
  if (node.kind === 'NamedType') return types[node.name.value];
  const element = typeOf(node.type);
  return element === undefined ? undefined : `${element}[]`;
}

export function plainValue(node: ValueNode): unknown {
  switch (node.kind) {
    case 'NullValue':
      return null;
    case 'IntValue':
    case 'FloatValue':
      return exactNumber(node.value);
    case 'ListValue':
      return node.values.map(plainValue);
    case 'ObjectValue':
      return Object.fromEntries(node.fields.map((one) => [one.name.value, plainValue(one.value)]));
    case 'Variable':
      throw new Refusal('A variable inside of a JSON value cannot be bound.');
    default:
      return node.value;
  }
}

export function argumentsOf(field: FieldNode, known: readonly string[]): Record<string, ValueNode> {
  const found = Object.fromEntries((field.arguments ?? []).map((one) => [one.name.value, one.value]));
  const strange = Object.keys(found).find((name) => !known.includes(name));
  if (strange !== undefined)
    throw new Refusal(`The argument ${strange} of ${field.name.value} has no counterpart here.`);
  return found;
}

/** The column of a field, whose name can be changed in the metadata. */
export function columnOf({ metadata }: Table, field: string): string {
  const { column_config: config, custom_column_names: names } = metadata.configuration ?? {};
  const found = Object.entries((config ?? {}) as Record<string, Loose>).find(
    ([, one]) => one?.custom_name === field,
  )?.[0];
  return (
    found ??
    Object.entries((names ?? {}) as Record<string, string>).find(([, one]) => one === field)?.[0] ??
    field
  );
}

export const isComputed = ({ metadata }: Table, field: string): boolean =>
  [...(metadata.computed_fields ?? []), ...(metadata.remote_relationships ?? [])].some(
    (one: Loose) => one.name === field,
  );

/** The permission of the role. The admin has all. */
export function permissionOf(
  { metadata, base }: Table,
  kind: 'select' | 'insert' | 'update' | 'delete',
  role: string,
): Loose {
  if (role === 'admin') return { columns: '*', filter: {}, check: {}, set: {}, allow_aggregations: true };
  const found = (metadata[`${kind}_permissions`] ?? []).find((one: Loose) => one.role === role)?.permission;
  if (found === undefined) throw new Refusal(`The role ${role} has no permission to ${kind} ${base}.`);
  if (found.backend_only === true)
    throw new Refusal(`The role ${role} may ${kind} ${base} from a backend only.`);
  if (found.validate_input !== undefined && found.validate_input !== null)
    throw new Refusal(`A service validates the input before the role ${role} may ${kind} ${base}.`);
  return found;
}

export function allowColumn(
  table: Table,
  column: string,
  { permission: { columns }, role }: { permission: Loose; role: string },
): string {
  if (columns !== '*' && !(Array.isArray(columns) && columns.includes(column)))
    throw new Refusal(`The role ${role} may not use the column ${column} of ${table.base}.`);
  return column;
}

/** The column of a field that the role may read, which conditions, orders and keys need, too. */
export function readableColumn(table: Table, field: string, { role }: Scope): string {
  if (isComputed(table, field))
    throw new Refusal(`${field} is computed, or in another source. Write its SQL into the text.`);
  const permission = permissionOf(table, 'select', role);
  return allowColumn(table, columnOf(table, field), { permission, role });
}
