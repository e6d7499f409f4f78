/** What all parts of an operation share while it becomes SQL: its variables, fragments and names of tables. */

import type {
  FieldNode,
  FragmentDefinitionNode,
  SelectionSetNode,
  TypeNode,
  ValueNode,
  VariableDefinitionNode,
} from 'graphql';
import type { Metadata, Table } from './hasura-metadata.ts';
import type { Loose } from './read-export.ts';
import { Refusal } from './text-conversion.ts';
import { type Traits, Variables } from './variables.ts';

export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;
export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`;
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
  readonly #declared: Map<string, VariableDefinitionNode>;
  readonly #fragments: Map<string, FragmentDefinitionNode>;
  #aliases = 0;

  constructor(
    { metadata, role }: { metadata: Metadata; role: string },
    {
      variables,
      fragments,
    }: { variables: readonly VariableDefinitionNode[]; fragments: readonly FragmentDefinitionNode[] },
  ) {
    this.metadata = metadata;
    this.role = role;
    this.#declared = new Map(variables.map((one) => [one.variable.name.value, one]));
    this.#fragments = new Map(fragments.map((one) => [one.name.value, one]));
  }

  context() {
    return this.#variables.context();
  }

  alias(prefix: string): string {
    return quoteName(`${prefix}${this.#aliases++}`);
  }

  /** The fields of a selection with those of its fragments. */
  fields({ selections }: SelectionSetNode): FieldNode[] {
    return selections.flatMap((one) => {
      if (one.directives !== undefined && one.directives.length > 0)
        throw new Refusal(
          'Directives such as @include choose fields at run time. Make a query of each choice.',
        );
      if (one.kind === 'Field') return [one];
      const set =
        one.kind === 'InlineFragment' ? one.selectionSet : this.#fragments.get(one.name.value)?.selectionSet;
      if (set === undefined) throw new Refusal('A fragment is not in the document.');
      return this.fields(set);
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
        return node.values.map((one) => this.value(one)).join(', ');
      default:
        return `${quoteText(JSON.stringify(plainValue(node)))}::jsonb`;
    }
  }

  /** X-Hasura-User-Id is what the caller's claims say. */
  session(name: string): string {
    const key = name.toLowerCase().replaceAll('-', '_');
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
      return Number(node.value);
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
  const { column_config: config = {}, custom_column_names: names = {} } = metadata.configuration ?? {};
  const found = Object.entries(config as Record<string, Loose>).find(
    ([, one]) => one?.custom_name === field,
  )?.[0];
  return (
    found ?? Object.entries(names as Record<string, string>).find(([, one]) => one === field)?.[0] ?? field
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
