/** Hasura's metadata: tables with their relationships and permissions, operations, and REST endpoints. */

import { dirname, join, normalize } from 'node:path';
import { type ForeignKey, readForeignKeys, sameTable, type TableName } from './hasura-foreign-keys.ts';
import { type ExportFile, isRecord, type Loose, parseExport } from './read-export.ts';

export interface Operation {
  file: string;
  text: string;
  collection?: string;
  name?: string;
}

export interface Source {
  name: string;
  kind: string;
  /** Root fields are in a namespace, or named in another way than their tables. */
  isCustomized?: boolean;
}

export interface Table extends TableName {
  /** Undefined if it stands outside of the sources. */
  source: Source | undefined;
  /** What its root fields and types are named after. */
  base: string;
  metadata: Loose;
}

export interface Metadata {
  sources: Source[];
  tables: Table[];
  operations: Operation[];
  /** The URL of a REST endpoint by collection and name of its operation. */
  urls: Map<string, string>;
  foreignKeys: ForeignKey[];
}

/** The source of metadata that have none: those of version 2 and before. */
export const onlySource: Source = { name: 'default', kind: 'postgres' };

/** The directory of a project (metadata, migrations and files of operations), or the JSON of an export. */
export function readHasuraFiles(files: ExportFile[]): Metadata {
  const found: Metadata = { sources: [], tables: [], operations: [], urls: new Map(), foreignKeys: [] };
  const parts = new Map<string, unknown>();
  for (const file of files) {
    if (/\.(?:graphql|gql)$/i.test(file.name)) found.operations.push({ file: file.name, text: file.text });
    else if (!/\.sql$/i.test(file.name)) parts.set(normalize(file.name), parseExport(file, [includeTag]));
  }
  found.foreignKeys = readForeignKeys(files.filter(({ name }) => /\.sql$/i.test(name)));
  const included = new Set([...parts].flatMap(([file, part]) => includesOf(part, file)));
  // Files that include one another come last.
  for (const file of [...[...parts.keys()].filter((one) => !included.has(one)), ...parts.keys()])
    addFile(found, file, { parts });
  return found;
}

/** `!include FILE`, which is a tag or the beginning of a text. */
const includeTag = { tag: '!include', resolve: (path: string) => `!include ${path}` };

function includeOf(part: unknown, file: string): string | undefined {
  const path = typeof part === 'string' ? /^!include\s+(.*?)\s*$/.exec(part)?.[1] : undefined;
  return path === undefined ? undefined : join(dirname(file), path);
}

function includesOf(part: unknown, file: string): string[] {
  if (typeof part === 'object' && part !== null)
    return Object.values(part).flatMap((member) => includesOf(member, file));
  const include = includeOf(part, file);
  return include === undefined ? [] : [include];
}

interface Place {
  /** The source that the part is of. */
  source?: Source;
  /** The files that were not added yet. */
  parts: Map<string, unknown>;
}

function addFile(found: Metadata, file: string, place: Place): void {
  const part = place.parts.get(file);
  place.parts.delete(file);
  addPart(found, part, { ...place, file });
}

/** Adds what a part of the metadata is, by its members. */
export function addPart(found: Metadata, part: unknown, place: Place & { file: string }): void {
  const { file, source } = place;
  const include = includeOf(part, file);
  if (include !== undefined) addFile(found, include, place);
  if (Array.isArray(part)) for (const one of part) addPart(found, one, place);
  if (!isRecord(part)) return;
  const { table, kind, name, definition, url } = part;
  if (isRecord(table) && typeof table.name === 'string') {
    const schema = String(table.schema ?? 'public');
    const base =
      part.configuration?.custom_name ?? (schema === 'public' ? table.name : `${schema}_${table.name}`);
    found.tables.push({ source, schema, name: table.name, base, metadata: part });
  } else if (typeof kind === 'string' && typeof name === 'string' && part.tables !== undefined) {
    const own = { name, kind, isCustomized: isCustomized(part.customization) };
    found.sources.push(own);
    addPart(found, part.tables, { ...place, source: own });
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
  } else for (const member of Object.values(part)) addPart(found, member, place);
}

const isCustomized = (customization: unknown): boolean => {
  const { root_fields: fields, naming_convention: convention } = (customization ?? {}) as Loose;
  const names = [fields?.namespace, fields?.prefix, fields?.suffix].filter((one) => one);
  return names.length > 0 || convention === 'graphql-default';
};

/** The source of a table. Undefined: the metadata have several, and do not say which. */
export const sourceOf = ({ source }: Table, { sources }: Metadata): Source | undefined =>
  source ?? (sources.length > 1 ? undefined : (sources[0] ?? onlySource));

/** The names of root fields by their kinds, which the metadata can change. */
export function rootNames<Kind extends string>({ metadata }: Table, names: Record<Kind, string>) {
  const custom = metadata.configuration?.custom_root_fields ?? {};
  const nameOf = (kind: string) => (isRecord(custom[kind]) ? custom[kind].name : custom[kind]);
  return (Object.entries(names) as [Kind, string][]).map(([kind, name]) => ({
    kind,
    name: nameOf(kind) ?? name,
  }));
}

export interface Relationship {
  isList: boolean;
  to: Table;
  /** Pairs of columns: ours, theirs. */
  on: [string, string][];
}

/** Another table in the source of a table. */
export const findTable = (wanted: TableName, of: Table, metadata: Metadata): Table | undefined =>
  metadata.tables.find((one) => sourceOf(one, metadata) === sourceOf(of, metadata) && sameTable(one, wanted));
export const toName = (table: unknown): TableName =>
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
  const find = (wanted: TableName) => findTable(wanted, table, metadata);
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
  const source = sourceOf(table, metadata)?.name;
  const [found, ...others] = metadata.foreignKeys.filter(
    (one) =>
      (one.source === undefined || one.source === source) &&
      sameTable(one.from, holder) &&
      one.columns.join() === columns.join(),
  );
  const advice = 'Add a dump of the schema to the files, for example with pg_dump --schema-only.';
  if (
    found &&
    others.some((one) => !sameTable(one.to, found.to) || one.references.join() !== found.references.join())
  )
    return `There are several foreign keys ${columns.join(', ')} of ${holder.name}. ${advice}`;
  const to =
    found && (!isTheirs || sameTable(found.to, table)) ? find(isTheirs ? found.from : found.to) : undefined;
  if (found === undefined || to === undefined)
    return `The foreign key ${columns.join(', ')} of ${holder.name} is in no migration. ${advice}`;
  const pairs = found.columns.map((column, i): [string, string] => [column, found.references[i] as string]);
  return { isList, to, on: isTheirs ? pairs.map(([ours, theirs]) => [theirs, ours]) : pairs };
}
