import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';
import type { Shape } from '../collection-spec.ts';
import { decode } from '../document.ts';
import type { Doc, Position, Scalar, Summary } from '../document-store.ts';
import type { CheckedPage } from '../filter.ts';
import type { Prepare, Range } from './condition.ts';
import { bytesColumn, counterColumn, fieldColumn, tableOf } from './schema.ts';
import { createSelect } from './select.ts';
import { type Stretch, stretchesOf } from './stretches.ts';

export interface Reads<T extends Doc> {
  get(accountId: string, id: string): T | null;
  getUnique(field: string, value: string): T | null;
  find(page: CheckedPage): Promise<T[]>;
  findSummaries(page: CheckedPage): Promise<Summary[]>;
  /** For `Counts`. */
  stretchesOf(range: Range): Generator<Stretch>;
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

  const select = createSelect(prepare, shape);

  return {
    get: (accountId, id) => one('account_id = ? AND id = ?', [accountId, id]),
    getUnique: (field, value) => one(`${fieldColumn(field)} = ?`, [value]),
    async find(page) {
      const found: T[] = [];
      let characters = 0;
      await select(page, { columns }, (row) => {
        const stored = toStored(shape, row as SQLOutputValue[]);
        found.push(decode<T>(shape, stored));
        characters += stored.body.length;
        return characters <= page.charactersMax;
      });
      return found;
    },
    async findSummaries(page) {
      const found: Summary[] = [];
      await select(page, { columns: summaryColumns, isSummary: true }, (row) => {
        found.push(toSummary(shape, row as Scalar[]));
        return true;
      });
      return found;
    },
    stretchesOf: (range) => stretchesOf({ prepare, shape }, range),
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
