/** An index of the tables and columns of one source by name. A search over 20,000 tables takes a few milliseconds. */

import { ctesIn } from './ctes.ts';
import { joinsOf, type Mentioned, type Relation, relationsOf } from './joins.ts';
import { quotedName, quotedTable } from './names.ts';
import type { Completion, CompletionAnswer, TableHit, TableJson } from './protocol.ts';

const completionsMax = 60;
const tablesBesideColumnsMax = 15;
/** Matches text after which the name of a table follows. */
const beforeTable = /\b(from|join|into|update|table|describe|desc)\s+(?:[\w."`]+\s*,\s*)*$/i;
const word = /[\w$"`]*$/;
const mentioned =
  /\b(?:from|join|into|update)\s+([\w$."`]+)(?:\s+(?:as\s+)?([A-Za-z_][\w$]*))?|,\s*([\w$."`]+)(?:\s+(?:as\s+)?([A-Za-z_][\w$]*))?/gi;
const notAlias = new Set(
  'where on using group order having limit join left right inner outer cross full set values select union natural returning for'.split(
    ' ',
  ),
);

/** What is offered, before it is written as the engine needs it. */
type Found = Omit<Completion, 'insert'> & {
  insert?: string;
  /** Of a table that is found without it. */
  schema?: string;
};

interface Statement {
  text: string;
  engine: string;
}

const bare = (name: string) => name.replaceAll(/["`]/g, '');

export class TableIndex {
  readonly tables: TableJson[];
  readonly #sourceId: string;
  /** The lower-case names of `tables`, in the same, sorted order. */
  readonly #names: string[];
  readonly #relations: readonly Relation[];
  readonly #schemas: string[];

  constructor(sourceId: string, tables: TableJson[]) {
    this.#sourceId = sourceId;
    const keyed = tables.map((table) => ({ table, name: table.name.toLowerCase() }));
    keyed.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    this.tables = keyed.map(({ table }) => table);
    this.#names = keyed.map(({ name }) => name);
    this.#relations = relationsOf(tables);
    this.#schemas = [...new Set(tables.map(({ schema }) => schema))];
  }

  /** Returns tables whose name begins with the text, then those with a name or column that contains it. */
  search(text: string, max: number): { tables: TableHit[]; total: number } {
    const wanted = text.trim().toLowerCase();
    const starting: TableJson[] = [];
    const containing: TableJson[] = [];
    const withColumn: TableJson[] = [];
    for (const [i, table] of this.tables.entries()) {
      const at = (this.#names[i] as string).indexOf(wanted);
      if (at === 0) starting.push(table);
      else if (at > 0 || `${table.schema}.${table.name}`.toLowerCase().includes(wanted))
        containing.push(table);
      else if (table.columns.some(({ name }) => name.toLowerCase().includes(wanted))) withColumn.push(table);
    }
    const found = [...starting, ...containing, ...withColumn];
    return { tables: found.slice(0, max).map((table) => this.#hit(table)), total: found.length };
  }

  table(schema: string, name: string): TableJson | undefined {
    return this.tables.find((table) => table.schema === schema && table.name === name);
  }

  #hit({ schema, name, kind, comment, rowEstimate }: TableJson): TableHit {
    return { sourceId: this.#sourceId, schema, name, kind, comment, rowEstimate };
  }

  /**
   * Returns completions at `at`: tables after words such as FROM, columns after a dot, else columns of the named
   * tables.
   */
  complete(statement: Statement, at: number): CompletionAnswer {
    const { text, engine } = statement;
    const answer = (found: Found[]): CompletionAnswer => ({
      from,
      options: found.slice(0, completionsMax).map((one) => written(one, engine)),
      cut: found.length > completionsMax,
    });
    const before = text.slice(Math.max(0, at - 2_000), at);
    const typed = word.exec(before)?.[0] ?? '';
    const prefix = bare(typed).toLowerCase();
    const from = at - typed.length;
    const ahead = before.slice(0, before.length - typed.length);
    const qualifier = /([\w$"`]+)\.$/.exec(ahead)?.[1];
    if (qualifier !== undefined) return answer(this.#afterDot(statement, bare(qualifier), prefix));
    if (beforeTable.test(ahead)) {
      const isJoin = /\bjoin\s+$/i.test(ahead);
      // What stands before the word counts: the unfinished join is no table of the statement yet.
      const mentionedAhead = isJoin ? this.#mentionedTables({ text: ahead, engine }) : [];
      return answer([
        ...joinsOf(mentionedAhead, this.#relations, { prefix, engine }),
        ...ctesOf(statement)
          .filter(({ name }) => name.toLowerCase().startsWith(prefix))
          .map(namedOption),
        ...this.#tablesFrom(prefix),
        ...this.#schemasFrom(prefix),
      ]);
    }
    const columns = this.#mentionedTables(statement).flatMap(({ table }) => columnsOf(table, prefix));
    const withTables = prefix.length >= 2 || columns.length === 0;
    const tables = withTables ? this.#tablesFrom(prefix) : [];
    const { options, cut } = answer(unique([...columns, ...tables.slice(0, tablesBesideColumnsMax)]));
    return { from, options, cut: cut || !withTables || tables.length > tablesBesideColumnsMax };
  }

  #afterDot(statement: Statement, qualifier: string, prefix: string): Found[] {
    const lower = qualifier.toLowerCase();
    const aliased = this.#mentionedTables(statement).filter(({ alias }) => alias === lower);
    const ctes = ctesOf(statement).filter(({ name }) => name.toLowerCase() === lower);
    const named = [...ctes, ...this.#byName(lower)];
    const columns = [...aliased.map(({ table }) => table), ...named].flatMap((table) =>
      columnsOf(table, prefix),
    );
    const inSchema = this.tables
      .filter(({ schema, name }) => schema.toLowerCase() === lower && name.toLowerCase().startsWith(prefix))
      .slice(0, completionsMax + 1)
      .map(namedOption);
    return unique([...columns, ...inSchema]);
  }

  /** Returns at most one table more than are shown. Uses a binary search on the sorted names. */
  #tablesFrom(prefix: string): Found[] {
    const first = this.#firstAtLeast(prefix);
    const found: TableJson[] = [];
    for (let i = first; i < this.#names.length && found.length <= completionsMax; i++) {
      if (!(this.#names[i] as string).startsWith(prefix)) break;
      found.push(this.tables[i] as TableJson);
    }
    for (let i = 0; i < this.#names.length && prefix !== '' && found.length <= completionsMax; i++) {
      if ((this.#names[i] as string).indexOf(prefix) > 0) found.push(this.tables[i] as TableJson);
    }
    return unique(found.map((table) => ({ ...namedOption(table), schema: table.schema })));
  }

  /** Schemas besides the usual one, of which `schema.table` completes the tables. */
  #schemasFrom(prefix: string): Found[] {
    if (prefix === '') return [];
    return this.#schemas
      .filter((schema) => schema.toLowerCase().startsWith(prefix))
      .map((label) => ({ label, kind: 'schema', detail: 'schema' }));
  }

  #firstAtLeast(name: string): number {
    let [low, high] = [0, this.#names.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#names[middle] as string) < name) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #byName(lower: string): TableJson[] {
    const found: TableJson[] = [];
    for (let i = this.#firstAtLeast(lower); this.#names[i] === lower; i++)
      found.push(this.tables[i] as TableJson);
    return found;
  }

  #mentionedTables({ text, engine }: Statement): Mentioned[] {
    const found: Mentioned[] = [];
    const ctes = ctesOf({ text, engine });
    for (const [, first, firstAlias, next, nextAlias] of text.matchAll(mentioned)) {
      const name = bare(first ?? next ?? '').toLowerCase();
      const word = firstAlias ?? nextAlias ?? '';
      const alias = notAlias.has(word.toLowerCase()) ? '' : word;
      const [last = '', schema] = name.split('.').reverse();
      const parts = ctes.filter((cte) => cte.name.toLowerCase() === name);
      const tables = this.#byName(last).filter(
        (table) => schema === undefined || table.schema.toLowerCase() === schema,
      );
      for (const table of parts.length > 0 ? parts : tables)
        found.push({
          table,
          alias: alias.toLowerCase() || last,
          written: alias || quotedName(table.name, engine),
        });
      if (found.length > 50) break;
    }
    return found;
  }
}

/** The parts of a WITH as tables. */
const ctesOf = ({ text, engine }: Statement): TableJson[] =>
  ctesIn(text, engine).map(({ name, columns }) => ({
    schema: 'WITH',
    name,
    kind: 'table',
    columns: columns.map((column) => ({ name: column, type: 'WITH', nullable: true })),
    primaryKey: [],
    foreignKeys: [],
  }));

const written = ({ schema, insert, ...option }: Found, engine: string): Completion => {
  const name = option.label;
  const asName = schema === undefined ? quotedName(name, engine) : quotedTable({ schema, name }, engine);
  return { ...option, insert: insert ?? asName };
};

const namedOption = ({ schema, name, kind }: TableJson): Found => ({
  label: name,
  kind: 'table',
  detail: kind === 'table' ? schema : `${schema}, ${kind}`,
});

const columnsOf = (table: TableJson, prefix: string): Found[] =>
  table.columns
    .filter(({ name }) => name.toLowerCase().startsWith(prefix))
    .map(({ name, type }) => ({ label: name, kind: 'column', detail: `${type} · ${table.name}` }));

function unique(options: Found[]): Found[] {
  const seen = new Set<string>();
  return options.filter(({ label, kind, schema = '' }) => {
    const id = `${kind} ${schema} ${label}`;
    if (seen.has(id)) return false;
    seen.add(id);
    return true;
  });
}
