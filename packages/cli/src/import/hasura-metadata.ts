/** Hasura's metadata: tables with their relationships and permissions, operations, and REST endpoints. */

import { parseDocument } from 'yaml';
import { CommandError } from '../failure.ts';
import { type ExportFile, isRecord, type Loose, parseJson } from './read-export.ts';

export interface Operation {
  file: string;
  text: string;
  collection?: string;
  name?: string;
}

export interface TableName {
  schema: string;
  name: string;
}

export interface Table extends TableName {
  /** What its root fields and types are named after. */
  base: string;
  metadata: Loose;
}

export interface ForeignKey {
  from: TableName;
  columns: string[];
  to: TableName;
  references: string[];
}

export interface Metadata {
  sources: { name: string; kind: string }[];
  tables: Table[];
  operations: Operation[];
  /** The URL of a REST endpoint by collection and name of its operation. */
  urls: Map<string, string>;
  foreignKeys: ForeignKey[];
}

/** The directory of a project (metadata, migrations and files of operations), or the JSON of an export. */
export function readHasuraFiles(files: ExportFile[]): Metadata {
  const found: Metadata = { sources: [], tables: [], operations: [], urls: new Map(), foreignKeys: [] };
  for (const file of files) {
    if (/\.(?:graphql|gql)$/i.test(file.name)) found.operations.push({ file: file.name, text: file.text });
    else if (/\.sql$/i.test(file.name)) {
      if (!/down\.sql$/i.test(file.name)) found.foreignKeys.push(...readForeignKeys(file.text));
    } else addPart(found, file.name, /\.json$/i.test(file.name) ? parseJson(file) : parseYaml(file));
  }
  return found;
}

function parseYaml({ name, text }: ExportFile): unknown {
  // `!include` is the tag of references to other files, which are read anyway.
  const document = parseDocument(text.replaceAll(/!include /g, ''));
  const [fault] = document.errors;
  if (fault !== undefined) throw new CommandError(`${name} is no YAML: ${fault.message}`);
  return document.toJS();
}

/** Adds what a part of the metadata is, by its members. */
export function addPart(found: Metadata, file: string, part: unknown): void {
  if (Array.isArray(part)) for (const one of part) addPart(found, file, one);
  if (!isRecord(part)) return;
  const { table, kind, name, definition, url } = part;
  if (isRecord(table) && typeof table.name === 'string') {
    const schema = String(table.schema ?? 'public');
    const base =
      part.configuration?.custom_name ?? (schema === 'public' ? table.name : `${schema}_${table.name}`);
    found.tables.push({ schema, name: table.name, base, metadata: part });
  } else if (typeof kind === 'string' && typeof name === 'string' && part.tables !== undefined) {
    found.sources.push({ name, kind });
    addPart(found, file, part.tables);
  } else if (typeof url === 'string' && isRecord(definition?.query)) {
    found.urls.set(`${definition.query.collection_name}/${definition.query.query_name}`, url);
  } else if (Array.isArray(definition?.queries)) {
    for (const one of definition.queries)
      found.operations.push({
        file: `${file}#${one.name}`,
        text: String(one.query),
        collection: String(name),
        name: one.name,
      });
  } else
    for (const member of Object.values(part)) if (typeof member === 'object') addPart(found, file, member);
}

const identifier = String.raw`(?:"[^"]+"|\w+)`;
const qualified = String.raw`(?:(${identifier})\.)?(${identifier})`;
const plain = (name: string | undefined) => (name ?? 'public').replaceAll('"', '');
const columnsOf = (list: string) => list.split(',').map((one) => plain(one.trim()));

/** The foreign keys of `CREATE TABLE` and `ALTER TABLE`, as pg_dump and Hasura's console write them. */
function readForeignKeys(text: string): ForeignKey[] {
  const statement = new RegExp(
    String.raw`\b(?:create\s+table(?:\s+if\s+not\s+exists)?|alter\s+table(?:\s+only)?)\s+${qualified}([^;]*)`,
    'gi',
  );
  const inBody = new RegExp(
    String.raw`(?:foreign\s+key\s*\(([^)]*)\)|(?:^|[,(])\s*(${identifier})\s+[^,()]*?)\s*\breferences\s+${qualified}\s*\(([^)]*)\)`,
    'gi',
  );
  return [...text.matchAll(statement)].flatMap(([, schema, name, body = '']) =>
    [...body.matchAll(inBody)].map(([, columns, column, toSchema, to, references = '']) => ({
      from: { schema: plain(schema), name: plain(name) },
      columns: columnsOf(columns ?? column ?? ''),
      to: { schema: plain(toSchema), name: plain(to) },
      references: columnsOf(references),
    })),
  );
}

export interface Relationship {
  isList: boolean;
  to: Table;
  /** Pairs of columns: ours, theirs. */
  on: [string, string][];
}

const sameTable = (a: TableName, b: TableName) => a.schema === b.schema && a.name === b.name;
const toName = (table: unknown): TableName =>
  isRecord(table)
    ? { schema: String(table.schema ?? 'public'), name: String(table.name) }
    : { schema: 'public', name: String(table) };

/** Undefined: there is none with this name. A text: why it is not known where it leads. */
export function relationshipOf(
  table: Table,
  name: string,
  metadata: Metadata,
): Relationship | string | undefined {
  const isList = (table.metadata.array_relationships ?? []).some((one: Loose) => one.name === name);
  const list: Loose[] = [
    ...(table.metadata.object_relationships ?? []),
    ...(table.metadata.array_relationships ?? []),
  ];
  const using = list.find((one) => one.name === name)?.using;
  if (using === undefined) return undefined;
  const find = (wanted: TableName) => metadata.tables.find((one) => sameTable(one, wanted));
  const { manual_configuration: manual, foreign_key_constraint_on: key } = using;
  if (isRecord(manual)) {
    const to = find(toName(manual.remote_table));
    return to === undefined
      ? `The table of ${name} is not tracked.`
      : { isList, to, on: Object.entries(manual.column_mapping) as [string, string][] };
  }
  const isTheirs = isRecord(key);
  const columns: string[] = isTheirs ? (key.columns ?? [key.column]) : [key].flat();
  const holder = isTheirs ? toName(key.table) : table;
  const found = metadata.foreignKeys.find(
    (one) =>
      sameTable(one.from, holder) &&
      one.columns.join() === columns.join() &&
      (!isTheirs || sameTable(one.to, table)),
  );
  const to = found && find(isTheirs ? found.from : found.to);
  if (found === undefined || to === undefined)
    return `The foreign key ${columns.join(', ')} of ${holder.name} is in no migration. Add its CREATE TABLE to the files, for example with pg_dump --schema-only.`;
  const pairs = found.columns.map((column, i): [string, string] => [column, found.references[i] as string]);
  return { isList, to, on: isTheirs ? pairs.map(([ours, theirs]) => [theirs, ours]) : pairs };
}
