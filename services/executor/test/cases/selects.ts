/**
 * Generates SELECTs over tables full of NULLs: joins of all kinds, derived tables, CTEs, laterals, set operations,
 * groups.
 */

import type { EngineName } from '@datahub/contract/engines';
import { createRandom } from '../../../../tests/support/random.ts';

type Kind = 'int' | 'text' | 'date' | 'json';

export interface Column {
  name: string;
  kind: Kind;
  /** A plain reference to a NOT NULL column of a table, which the signature must report as not null. */
  isCertain: boolean;
}

interface Relation {
  text: string;
  alias: string;
  columns: Column[];
}

export interface Generated {
  text: string;
  columns: Column[];
  /** True if the statement has a part that makes all its columns nullable. */
  isExcluded: boolean;
  /** The declared type of the variable `ids`; undefined if it is not declared. */
  idsType: 'integer' | 'integer[]' | undefined;
  context: { ids: number | number[] };
}

const column = (name: string, kind: Kind, isCertain = false): Column => ({ name, kind, isCertain });

const tables: Record<string, Column[]> = {
  nl_people: [
    column('id', 'int', true),
    column('name', 'text', true),
    column('boss', 'int'),
    column('born', 'date'),
    column('doc', 'json'),
  ],
  nl_orders: [column('id', 'int', true), column('person', 'int', true), column('amount', 'int')],
  nl_empty: [column('id', 'int', true), column('label', 'text', true)],
  nl_view: [column('id', 'int'), column('amount', 'int')],
};
/** Tables for PostgreSQL only: one with a child table whose column is nullable, and one with partitions. */
const postgresTables: Record<string, Column[]> = {
  nl_parent: [column('a', 'int')],
  nl_parts: [column('k', 'int', true), column('v', 'int')],
};

export function setUp(engine: EngineName): string[] {
  const isPostgres = engine === 'postgres';
  const json = isPostgres ? 'jsonb' : 'json';
  const born = isPostgres ? '2000-01-01' : '0000-00-00';
  return [
    `CREATE TABLE nl_people (id int NOT NULL PRIMARY KEY, name varchar(20) NOT NULL, boss int, born date NOT NULL, doc ${json} NOT NULL)`,
    'CREATE TABLE nl_orders (id int NOT NULL, person int NOT NULL, amount int)',
    'CREATE TABLE nl_empty (id int NOT NULL, label varchar(20) NOT NULL)',
    `INSERT INTO nl_people VALUES (1, 'a', NULL, '2001-01-01', '1'), (2, 'b', 1, '${born}', 'null'), (3, 'c', 9, '${born}', '[]')`,
    'INSERT INTO nl_orders VALUES (1, 1, NULL), (2, 1, 5), (3, 7, 6), (4, 2, NULL)',
    'CREATE VIEW nl_view AS SELECT p.id, o.amount FROM nl_orders o LEFT JOIN nl_people p ON p.id = o.person',
    ...(isPostgres
      ? [
          'CREATE TABLE nl_parent (a int)',
          'CREATE TABLE nl_child () INHERITS (nl_parent)',
          'ALTER TABLE ONLY nl_parent ALTER a SET NOT NULL',
          'INSERT INTO nl_child VALUES (NULL), (1)',
          'CREATE TABLE nl_parts (k int NOT NULL, v int) PARTITION BY LIST (k)',
          'CREATE TABLE nl_part PARTITION OF nl_parts FOR VALUES IN (1, 2)',
          'INSERT INTO nl_parts VALUES (1, NULL), (2, 2)',
          // Without statistics, the planner assumes large tables and compiles the joins.
          'ANALYZE',
        ]
      : []),
  ];
}

export const tearDown = (engine: EngineName): string[] => [
  'DROP VIEW IF EXISTS nl_view',
  ...(engine === 'postgres'
    ? ['DROP TABLE IF EXISTS nl_parent CASCADE', 'DROP TABLE IF EXISTS nl_parts']
    : []),
  'DROP TABLE IF EXISTS nl_people, nl_orders, nl_empty',
];

export function createGenerator(engine: EngineName, seed: number): () => Generated {
  const random = createRandom(seed);
  return () => new Generator(engine, random).statement();
}

class Generator {
  readonly #isPostgres: boolean;
  readonly #hasLateral: boolean;
  readonly #random: () => number;
  #aliases = 0;
  #isExcluded = false;

  constructor(engine: EngineName, random: () => number) {
    this.#isPostgres = engine === 'postgres';
    this.#hasLateral = engine !== 'mariadb';
    this.#random = random;
  }

  statement(): Generated {
    const { text, columns } = this.#query(2, []);
    const idsType = this.#pick(['integer', 'integer[]', undefined] as const);
    const takesList = idsType === 'integer[]' || (idsType === undefined && this.#chance(0.5));
    return {
      text,
      columns,
      isExcluded: this.#isExcluded,
      idsType,
      context: { ids: takesList ? [1, 2] : 1 },
    };
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T;
  }

  #alias(): string {
    return `r${this.#aliases++}`;
  }

  /** `ctes` are the relations that enclosing WITH clauses define. */
  #query(depth: number, ctes: Relation[]): Pick<Relation, 'text' | 'columns'> {
    if (depth > 0 && this.#chance(0.12)) return this.#union(depth, ctes);
    if (depth > 0 && this.#chance(0.2)) {
      const inner = this.#query(depth - 1, ctes);
      // A CTE can have the name of a table.
      const name = this.#chance(0.3) ? this.#pick(Object.keys(tables)) : `c${this.#aliases++}`;
      const outer = this.#select(depth - 1, [...ctes, { ...inner, text: name, alias: name }]);
      return { text: `WITH ${name} AS (${inner.text}) ${outer.text}`, columns: outer.columns };
    }
    return this.#select(depth, ctes);
  }

  #union(depth: number, ctes: Relation[]): Pick<Relation, 'text' | 'columns'> {
    const operator = this.#pick(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT']);
    if (!this.#isPostgres) this.#isExcluded = true;
    const sides = [0, 1].map(() => {
      const from = this.#from(depth - 1, ctes);
      const ints = from.columns.filter(({ kind }) => kind === 'int').map(({ name }) => name);
      const item = this.#pick([...ints, ...ints, 'NULL', '1', 'count(*)']);
      if (item === 'count(*)') return `SELECT count(*) AS u FROM ${from.text}`;
      const typed = item === 'NULL' ? `CAST(NULL AS ${this.#isPostgres ? 'int' : 'signed'})` : item;
      return `SELECT ${typed} AS u FROM ${from.text}`;
    });
    return { text: sides.join(` ${operator} `), columns: [column('u', 'int')] };
  }

  #from(depth: number, ctes: Relation[]): Pick<Relation, 'text' | 'columns'> {
    let { text, columns } = this.#named(this.#relation(depth, ctes));
    for (let joins = this.#pick([0, 0, 1, 1, 2]); joins > 0; joins--) {
      const isLateral = this.#hasLateral && depth > 0 && this.#chance(0.15);
      const right = this.#named(this.#relation(depth, ctes, isLateral ? columns : undefined));
      const kinds = ['JOIN', 'INNER JOIN', 'CROSS JOIN', 'LEFT JOIN', 'LEFT OUTER JOIN'];
      if (!isLateral)
        kinds.push('RIGHT JOIN', ...(this.#isPostgres ? ['FULL JOIN', 'NATURAL LEFT JOIN'] : []));
      const kind = this.#chance(0.55) ? this.#pick(['JOIN', 'CROSS JOIN']) : this.#pick(kinds);
      if (/LEFT|RIGHT|FULL/.test(kind)) this.#isExcluded = true;
      const withoutOn = kind.startsWith('CROSS') || kind.startsWith('NATURAL');
      text = `${text} ${kind} ${right.text}${withoutOn ? '' : ` ON ${this.#condition([...columns, ...right.columns])}`}`;
      columns = [...columns, ...right.columns];
    }
    return { text, columns };
  }

  /** Returns the relation with qualified columns. */
  #named({ text, alias, columns }: Relation): Pick<Relation, 'text' | 'columns'> {
    return {
      text: text === alias ? text : `${text} ${alias}`,
      columns: columns.map((one) => ({ ...one, name: `${alias}.${one.name}` })),
    };
  }

  #relation(depth: number, ctes: Relation[], outer?: Column[]): Relation {
    const alias = this.#alias();
    if (outer !== undefined) {
      const inner = this.#select(depth - 1, ctes, outer);
      return { text: `LATERAL (${inner.text})`, alias, columns: inner.columns };
    }
    if (depth > 0 && this.#chance(0.25)) {
      const inner = this.#query(depth - 1, ctes);
      return { text: `(${inner.text})`, alias, columns: inner.columns };
    }
    const cte = ctes.at(-1);
    if (cte !== undefined && this.#chance(0.6)) return { ...cte, alias };
    const all = this.#isPostgres ? { ...tables, ...postgresTables } : tables;
    const name = this.#pick(Object.keys(all));
    const shadow = ctes.find((one) => one.text === name);
    if (shadow !== undefined) return { ...shadow, alias };
    if (name === 'nl_view' && !this.#isPostgres) this.#isExcluded = true;
    return { text: name, alias, columns: all[name] as Column[] };
  }

  #condition(columns: readonly Column[]): string {
    const ints = columns.filter(({ kind }) => kind === 'int').map(({ name }) => name);
    if (ints.length === 0) return '1 = 1';
    const one = this.#pick(ints);
    return this.#pick([
      `${one} = ${this.#pick(ints)}`,
      `${one} = ${this.#pick(ints)}`,
      `${one} > 1`,
      `${one} IS NULL`,
      `${one} IN (1, 2)`,
      `${one} IN (:ids)`,
      `${one} NOT IN (:ids)`,
      '1 = 0',
      '1 = 1',
    ]);
  }

  #select(depth: number, ctes: Relation[], outer: Column[] = []): Pick<Relation, 'text' | 'columns'> {
    const from = this.#from(depth, ctes);
    const where = this.#chance(0.4) ? ` WHERE ${this.#condition([...from.columns, ...outer])}` : '';
    if (this.#chance(0.2)) return this.#grouped(from, where);
    const columns: Column[] = [];
    const items: string[] = [];
    for (let left = this.#pick([1, 2, 3, 4]); left > 0; left--) {
      const name = `k${left}`;
      const [text, item] = this.#item(name, from.columns, { depth, ctes });
      items.push(`${text} AS ${name}`);
      columns.push(item);
    }
    const distinct = this.#chance(0.1) ? 'DISTINCT ' : '';
    const limit = this.#chance(0.1) ? ' LIMIT 2' : '';
    return { text: `SELECT ${distinct}${items.join(', ')} FROM ${from.text}${where}${limit}`, columns };
  }

  #item(
    name: string,
    columns: Column[],
    { depth, ctes }: { depth: number; ctes: Relation[] },
  ): [string, Column] {
    const one = this.#pick(columns);
    if (this.#chance(0.65)) return [one.name, { ...one, name }];
    const int = this.#pick(columns.filter(({ kind }) => kind === 'int'))?.name ?? '1';
    if (depth > 0 && this.#chance(0.2)) {
      const inner = this.#from(0, ctes);
      const found = this.#pick(inner.columns);
      return this.#chance(0.5)
        ? [`EXISTS (SELECT 1 FROM ${inner.text})`, column(name, 'text')]
        : [`(SELECT ${found.name} FROM ${inner.text} LIMIT 1)`, { ...found, name, isCertain: false }];
    }
    const texts = [`${int} + 1`, `COALESCE(${int}, 0)`, `NULLIF(${int}, 1)`, '1', 'NULL'];
    texts.push(`COALESCE(${int}, NULL)`, `COALESCE(NULLIF(${int}, 1), COALESCE(${int}, 7))`);
    if (this.#isPostgres) texts.push(`${int}::text`, `CASE WHEN ${int} > 1 THEN ${int} END`);
    texts.push(`CASE ${int} WHEN 1 THEN ${int} END`, "'x'", '-2', this.#provable(int), this.#provable(int));
    texts.push(`${int} IS NULL`, `NOT (${int} = 1) OR 1 = 2`, `${this.#number(this.#provable(int))} > 1`);
    texts.push(
      '(SELECT count(*) FROM nl_orders WHERE id > 2)',
      '(SELECT count(*) FROM nl_orders HAVING 1 = 0)',
    );
    if (this.#isPostgres) texts.push('row_number() OVER ()', `count(${int}) OVER ()`, `'x' || ${int}`);
    const text = this.#pick(texts);
    // On MySQL, the columns beside an aggregate can be NULL.
    if (!this.#isPostgres && text.includes('count(')) this.#isExcluded = true;
    return [text, column(name, /^[-\w.]+( \+ 1)?$|^COALESCE/.test(text) && text !== 'NULL' ? 'int' : 'text')];
  }

  /** An expression of the kinds that the text alone can prove, of parts that are NULL and parts that are not. */
  #provable(int: string, depth = 3): string {
    if (depth === 0 || this.#chance(0.2))
      return this.#pick([int, int, 'NULL', '1', '-2', `COALESCE(${int}, 3)`]);
    const part = () => this.#provable(int, depth - 1);
    const operator = this.#pick(['=', '<>', '<', '>=', '+', '-', '*', '/', '%']);
    const isTruth = ['=', '<>', '<', '>='].includes(operator);
    const [left, right] = [this.#number(part()), this.#number(part())];
    const forms = [
      `(CASE WHEN ${int} > 1 THEN ${left} ELSE ${right} END)`,
      `(CASE ${int} WHEN 1 THEN ${left} WHEN NULL THEN ${right} ELSE 5 END)`,
      `(CASE WHEN ${left} = 1 THEN ${right} END)`,
      isTruth
        ? `(CASE WHEN (${left} ${operator} ${right}) IS NULL THEN NULL ELSE 1 END)`
        : `(${left} ${operator} ${right})`,
      `COALESCE(${left}, ${right})`,
      `GREATEST(${left}, ${right})`,
      `LEAST(${left}, ${right})`,
    ];
    if (this.#isPostgres) forms.push(`abs(${left})`, `length(CAST(${left} AS text))`, `(${left})::int`);
    return this.#pick(forms);
  }

  /** NULL alone has no type. */
  #number(text: string): string {
    return text === 'NULL' ? `CAST(NULL AS ${this.#isPostgres ? 'int' : 'signed'})` : text;
  }

  #grouped(from: Pick<Relation, 'text' | 'columns'>, where: string): Pick<Relation, 'text' | 'columns'> {
    if (!this.#isPostgres) this.#isExcluded = true;
    const keys = this.#chance(0.3) ? [] : [this.#pick(from.columns), this.#pick(from.columns)];
    const names = keys.map(({ name }) => name);
    const counted = this.#pick(from.columns).name;
    const aggregates = [
      ...['count(*)', `count(${counted})`, `count(DISTINCT ${counted})`, `count(${counted}) > 0`],
      ...[`CASE WHEN count(${counted}) > 1 THEN 'x' ELSE 'y' END`, `count(*) - count(${counted})`],
    ];
    const int = from.columns.find(({ kind }) => kind === 'int')?.name;
    if (int !== undefined) aggregates.push(`max(${int})`, `sum(${int})`);
    const stray = this.#pick(from.columns).name;
    // MySQL and MariaDB accept columns that are not in GROUP BY.
    const others = this.#isPostgres ? aggregates : [...aggregates, stray, "'x'", '1'];
    const shown = [...names.filter(() => this.#chance(0.7)), this.#pick(aggregates), this.#pick(others)];
    const items = shown.map((text, i) => `${text} AS g${i}`);
    const by = names.length === 0 ? '' : ` GROUP BY ${this.#groups(names)}`;
    const having = this.#chance(0.15) ? ' HAVING count(*) >= 0' : '';
    return {
      text: `SELECT ${items.join(', ')} FROM ${from.text}${where}${by}${having}`,
      columns: shown.map((text, i) => {
        const key = keys.find((one) => one.name === text);
        return key === undefined ? column(`g${i}`, 'text') : { ...key, name: `g${i}` };
      }),
    };
  }

  #groups(names: string[]): string {
    const list = names.join(', ');
    if (this.#chance(0.5)) return list;
    this.#isExcluded = true;
    if (!this.#isPostgres) return `${list} WITH ROLLUP`;
    return this.#pick([`ROLLUP (${list})`, `CUBE (${list})`, `GROUPING SETS ((${names[0]}), ())`]);
  }
}
