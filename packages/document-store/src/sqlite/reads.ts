import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { Shape } from '../collection-spec.ts';
import { decode } from '../document.ts';
import type { Doc, Position, Scalar, Summary } from '../document-store.ts';
import type { CheckedFilter, CheckedPage } from '../filter.ts';
import { bytesColumn, counterColumn, fieldColumn, indexOf, tableOf } from './schema.ts';

/** Prepares each text once. Texts contain only declared names, so their number is bounded. */
export type Prepare = (sql: string) => StatementSync;

export function createPrepare(db: DatabaseSync): Prepare {
  const cache = new Map<string, StatementSync>();
  return (sql) => {
    const known = cache.get(sql);
    if (known !== undefined) return known;
    const statement = db.prepare(sql);
    statement.setReturnArrays(true);
    cache.set(sql, statement);
    return statement;
  };
}

export interface Condition {
  sql: string;
  values: SQLInputValue[];
}

export function toCondition(filter: CheckedFilter): Condition {
  const parts = ['account_id = ?'];
  const values: SQLInputValue[] = [filter.accountId];
  for (const { name, value } of filter.where) {
    parts.push(value === null ? `${fieldColumn(name)} IS NULL` : `${fieldColumn(name)} = ?`);
    if (value !== null) values.push(value);
  }
  for (const [sql, id] of [
    ['id >= ?', filter.from],
    ['id > ?', filter.after],
    ['id < ?', filter.before],
  ] as const) {
    if (id === undefined) continue;
    parts.push(sql);
    values.push(id);
  }
  return { sql: parts.join(' AND '), values };
}

export interface Reads<T extends Doc> {
  get(accountId: string, id: string): T | null;
  getUnique(field: string, value: string): T | null;
  find(page: CheckedPage): T[];
  findSummaries(page: CheckedPage): Summary[];
  count(filter: CheckedFilter): number;
  scan(after: Position | undefined, limit: number): T[];
  findDue(nowMs: number, limit: number): T[];
}

export function createReads<T extends Doc>(prepare: Prepare, shape: Shape): Reads<T> {
  const table = tableOf(shape);
  const columns = ['body', ...shape.counters.map(counterColumn), ...shape.bytes.map(bytesColumn)].join(', ');
  const summaryColumns = ['id', ...shape.summaryFields.map(fieldColumn)].join(', ');
  const toDoc = (row: unknown): T => decode<T>(shape, toStored(shape, row as SQLOutputValue[]));
  const one = (where: string, values: SQLInputValue[]): T | null => {
    const row = prepare(`SELECT ${columns} FROM ${table} WHERE ${where}`).get(...values);
    return row === undefined ? null : toDoc(row);
  };

  /** Whether the index of ids covers the summary. */
  const summaryById = shape.summaryBy === undefined && shape.summaryFields.length > 0;

  /** Null if the page is empty. */
  function select(selected: string, page: CheckedPage) {
    const index = page.where[0]?.name;
    const start = page.offset === 0 ? page : skip(prepare, shape, page);
    if (start === null) return null;
    const { sql, values } = toCondition(start);
    // Without an indexed field the primary key has the order and the rows.
    const isInIds = index === undefined && selected === summaryColumns && summaryById;
    const by = index === undefined && !isInIds ? '' : ` INDEXED BY ${indexOf(shape, index)}`;
    const order = page.descending ? 'DESC' : 'ASC';
    const text = `SELECT ${selected} FROM ${table}${by} WHERE ${sql} ORDER BY id ${order} LIMIT ?`;
    return { statement: prepare(text), values: [...values, page.limit] };
  }

  return {
    get: (accountId, id) => one('account_id = ? AND id = ?', [accountId, id]),
    getUnique: (field, value) => one(`${fieldColumn(field)} = ?`, [value]),
    find(page) {
      const found: T[] = [];
      let characters = 0;
      const selected = select(columns, page);
      for (const row of selected?.statement.iterate(...selected.values) ?? []) {
        const stored = toStored(shape, row as unknown as SQLOutputValue[]);
        found.push(decode<T>(shape, stored));
        characters += stored.body.length;
        if (characters > page.charactersMax) break;
      }
      return found;
    },
    findSummaries(page) {
      const selected = select(summaryColumns, page);
      const rows: unknown[] = selected?.statement.all(...selected.values) ?? [];
      return rows.map((row) => toSummary(shape, row as Scalar[]));
    },
    count(filter) {
      const { sql, values } = toCondition(filter);
      const index = indexOf(shape, filter.where[0]?.name);
      const row = prepare(`SELECT count(*) FROM ${table} INDEXED BY ${index} WHERE ${sql}`).get(...values);
      return Number((row as unknown as number[])[0]);
    },
    scan(after, limit) {
      const text = `SELECT ${columns} FROM ${table} WHERE (account_id, id) > (?, ?)
        ORDER BY account_id, id LIMIT ?`;
      return prepare(text)
        .all(after?.accountId ?? '', after?.id ?? '', limit)
        .map(toDoc);
    },
    findDue(nowMs, limit) {
      if (shape.due === undefined) return [];
      const column = fieldColumn(shape.due);
      const text = `SELECT ${columns} FROM ${table} WHERE ${column} <= ? ORDER BY ${column} LIMIT ?`;
      return prepare(text).all(nowMs, limit).map(toDoc);
    },
  };
}

/**
 * Finds the start of a page with an offset by skipping index entries, because skipping rows would read their bodies. Null
 * if the offset is past the end.
 */
function skip(prepare: Prepare, shape: Shape, page: CheckedPage): CheckedPage | null {
  const { sql, values } = toCondition(page);
  const order = page.descending ? 'DESC' : 'ASC';
  const text = `SELECT id FROM ${tableOf(shape)} INDEXED BY ${indexOf(shape, page.where[0]?.name)}
    WHERE ${sql} ORDER BY id ${order} LIMIT 1 OFFSET ?`;
  const row = prepare(text).get(...values, page.offset - 1) as unknown as [string] | undefined;
  if (row === undefined) return null;
  return page.descending ? { ...page, before: row[0] } : { ...page, after: row[0] };
}

function toStored(shape: Shape, row: SQLOutputValue[]) {
  const split = 1 + shape.counters.length;
  return {
    body: row[0] as string,
    counters: row.slice(1, split) as number[],
    bytes: row.slice(split) as (Uint8Array | null)[],
  };
}

function toSummary(shape: Shape, row: Scalar[]): Summary {
  const summary: Summary = { id: row[0] as string };
  shape.summaryFields.forEach((name, i) => {
    summary[name] = row[i + 1] ?? null;
  });
  return summary;
}
