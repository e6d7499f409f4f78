/** The foreign keys of a database, by the migrations that changed it, or by a dump of its schema. */

import { comments } from './outline.ts';
import type { ExportFile } from './read-export.ts';

export interface TableName {
  schema: string;
  name: string;
}

export interface ForeignKey {
  /** The name of the source whose migrations have it. */
  source: string | undefined;
  name: string;
  from: TableName;
  columns: string[];
  to: TableName;
  references: string[];
}

const identifier = String.raw`(?:"[^"]+"|\w+)`;
const qualified = String.raw`(?:(${identifier})\.)?(${identifier})`;
const statement = new RegExp(
  String.raw`\b(create|alter|drop)\s+table(?:\s+if\s+(?:not\s+)?exists)?(?:\s+only)?\s+${qualified}([^;]*)`,
  'gi',
);
const addition = new RegExp(
  String.raw`(?:(?:constraint\s+(${identifier})\s+)?foreign\s+key\s*\(([^)]*)\)|(?:^|[,(])\s*(?:add\s+(?:column\s+)?(?:if\s+not\s+exists\s+)?)?(${identifier})\s+([^,()]*?))\s*\breferences\s+${qualified}\s*\(([^)]*)\)`,
  'gi',
);
const removal = new RegExp(
  String.raw`\bdrop\s+(?:(constraint)\s+|column\s+|(?!(?:default|not|expression|identity)\b))(?:if\s+exists\s+)?(${identifier})`,
  'gi',
);
const renaming = new RegExp(
  String.raw`^\s*rename\s+(?:to|(?:(constraint)\s+|column\s+)?(${identifier})\s+to)\s+(${identifier})`,
  'i',
);

const nameOrSkipped = new RegExp(`"[^"]*"|'(?:[^']|'')*'|${comments.postgres}`, 'g');

const plain = (name: string | undefined) => (name ?? 'public').replaceAll('"', '');
const columnsOf = (list: string) => list.split(',').map((one) => plain(one.trim()));
export const sameTable = (a: TableName, b: TableName) => a.schema === b.schema && a.name === b.name;

/** A dump has the whole schema, so that the migrations beside it do not count. */
export function readForeignKeys(files: ExportFile[]): ForeignKey[] {
  const isMigration = ({ name }: ExportFile) => /(?:^|[\\/])migrations[\\/]/.test(name);
  const dumps = files.filter((file) => !isMigration(file));
  const ofDumps = readFiles(dumps);
  return ofDumps.length > 0 ? ofDumps : readFiles(files.filter(isMigration));
}

function readFiles(files: ExportFile[]): ForeignKey[] {
  const bySource = new Map<string | undefined, ForeignKey[]>();
  const ordered = files
    .filter(({ name }) => !/down\.sql$/i.test(name))
    .sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  for (const { name, text } of ordered) {
    const source = /(?:^|[\\/])migrations[\\/]([^\\/]+)[\\/][^\\/]+[\\/][^\\/]+$/.exec(name)?.[1];
    bySource.set(source, change(bySource.get(source) ?? [], text, source));
  }
  return [...bySource.values()].flat();
}

/** The foreign keys after the statements of a text. */
function change(before: ForeignKey[], text: string, source: string | undefined): ForeignKey[] {
  let keys = before;
  const code = text.replaceAll(nameOrSkipped, (token) => (token.startsWith('"') ? token : ' '));
  for (const [, verb = '', schema, name, body = ''] of code.matchAll(statement)) {
    const table = { schema: plain(schema), name: plain(name) };
    if (verb.toLowerCase() === 'drop') keys = withoutTables(keys, [table, ...furtherTables(body)]);
    else
      keys = [
        ...(verb.toLowerCase() === 'alter' ? alter(keys, table, body) : keys),
        ...added(table, body, source),
      ];
  }
  return keys;
}

const furtherTables = (body: string): TableName[] =>
  [...body.matchAll(new RegExp(String.raw`,\s*${qualified}`, 'g'))].map(([, schema, name]) => ({
    schema: plain(schema),
    name: plain(name),
  }));

const withoutTables = (keys: ForeignKey[], tables: TableName[]): ForeignKey[] =>
  keys.filter(({ from, to }) => !tables.some((one) => sameTable(one, from) || sameTable(one, to)));

/** What a table loses comes before what it gets, as in the database. */
function alter(keys: ForeignKey[], table: TableName, body: string): ForeignKey[] {
  const [, constraint, old, next] = renaming.exec(body) ?? [];
  const schema = new RegExp(String.raw`^\s*set\s+schema\s+(${identifier})`, 'i').exec(body)?.[1];
  if (schema !== undefined) return moved(keys, table, { ...table, schema: plain(schema) });
  if (next !== undefined && old === undefined) return moved(keys, table, { ...table, name: plain(next) });
  if (next !== undefined)
    return renamed(keys, table, { isName: constraint !== undefined, old: plain(old), next: plain(next) });
  const removals = [...body.matchAll(removal)].map(([, kind, name]) => ({
    isName: kind !== undefined,
    name: plain(name),
  }));
  return keys.filter((key) => {
    const isLost = ({ isName, name }: (typeof removals)[number]) =>
      sameTable(key.from, table)
        ? isName
          ? key.name === name
          : key.columns.includes(name)
        : sameTable(key.to, table) && !isName && key.references.includes(name);
    return !removals.some(isLost);
  });
}

const moved = (keys: ForeignKey[], table: TableName, next: TableName): ForeignKey[] =>
  keys.map((key) => ({
    ...key,
    from: sameTable(key.from, table) ? next : key.from,
    to: sameTable(key.to, table) ? next : key.to,
  }));

function renamed(
  keys: ForeignKey[],
  table: TableName,
  { isName, old, next }: { isName: boolean; old: string; next: string },
): ForeignKey[] {
  const rename = (name: string) => (name === old ? next : name);
  return keys.map((key) => {
    const isFrom = sameTable(key.from, table);
    if (isName) return isFrom ? { ...key, name: rename(key.name) } : key;
    return {
      ...key,
      columns: isFrom ? key.columns.map(rename) : key.columns,
      references: sameTable(key.to, table) ? key.references.map(rename) : key.references,
    };
  });
}

/** The foreign keys of `CREATE TABLE` and `ALTER TABLE`, as pg_dump and Hasura's console write them. */
function added(from: TableName, body: string, source: string | undefined): ForeignKey[] {
  return [...body.matchAll(addition)].map(
    ([, name, columns, column, traits = '', schema, to, references = '']) => {
      const own = columnsOf(columns ?? column ?? '');
      const given = name ?? new RegExp(String.raw`constraint\s+(${identifier})\s*$`, 'i').exec(traits)?.[1];
      return {
        source,
        // PostgreSQL's own name for it.
        name: given === undefined ? `${from.name}_${own.join('_')}_fkey` : plain(given),
        from,
        columns: own,
        to: { schema: plain(schema), name: plain(to) },
        references: columnsOf(references),
      };
    },
  );
}
