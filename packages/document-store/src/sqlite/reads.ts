import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';
import type { Shape } from '../collection-spec.ts';
import { decode } from '../document.ts';
import {
  type Doc,
  type Due,
  dueCharactersMax,
  type Scalar,
  type Scan,
  type Summary,
} from '../document-store.ts';
import type { CheckedPage } from '../filter.ts';
import type { Prepare, Range } from './condition.ts';
import type { ReadTurns } from './read-turns.ts';
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
  scan(options: Scan): Promise<T[]>;
  findDue(nowMs: number, limit: number): Due<T>;
}

export function createReads<T extends Doc>(
  { prepare, turns }: { prepare: Prepare; turns: ReadTurns },
  shape: Shape,
): Reads<T> {
  const table = tableOf(shape);
  const columns = ['body', ...shape.counters.map(counterColumn), ...shape.bytes.map(bytesColumn)].join(', ');
  const summaryColumns = ['id', ...shape.summaryFields.map(fieldColumn)].join(', ');
  const toDoc = (row: unknown): T => decode<T>(shape, toStored(shape, row as SQLOutputValue[]));
  const one = (where: string, values: SQLInputValue[]): T | null => {
    const row = prepare(`SELECT ${columns} FROM ${table} WHERE ${where}`).get(...values);
    return row === undefined ? null : toDoc(row);
  };

  const select = createSelect({ prepare, turns }, shape);

  return {
    get: (accountId, id) => one('account_id = ? AND id = ?', [accountId, id]),
    getUnique: (field, value) => one(`${fieldColumn(field)} = ?`, [value]),
    async find(page) {
      const found: T[] = [];
      let characters = 0;
      await select(page, { columns }, (row) => {
        const stored = toStored(shape, row as SQLOutputValue[]);
        const doc = decode<T>(shape, stored);
        found.push(doc);
        characters += stored.body.length;
        return characters <= page.charactersMax ? doc.id : undefined;
      });
      return found;
    },
    async findSummaries(page) {
      const found: Summary[] = [];
      await select(page, { columns: summaryColumns, isSummary: true }, (row) => {
        const summary = toSummary(shape, row as Scalar[]);
        found.push(summary);
        return summary.id;
      });
      return found;
    },
    stretchesOf: (range) => stretchesOf({ prepare, shape }, range),
    ...createWalks({ prepare, turns }, shape, { columns, toDoc }),
  };
}

/** Reads without a filter: in the order of ids, or of what is due. */
function createWalks<T extends Doc>(
  { prepare, turns }: { prepare: Prepare; turns: ReadTurns },
  shape: Shape,
  { columns, toDoc }: { columns: string; toDoc(row: unknown): T },
): Pick<Reads<T>, 'scan' | 'findDue'> {
  const table = tableOf(shape);
  return {
    async scan({ after, limit, charactersMax = Number.POSITIVE_INFINITY }) {
      const text = `SELECT ${columns} FROM ${table} WHERE (account_id, id) > (?, ?)
        ORDER BY account_id, id LIMIT ?`;
      const found: T[] = [];
      let characters = 0;
      /** True if a later turn must read the rest. */
      const readSome = (): boolean => {
        const last = found.at(-1) ?? after;
        const values = [last?.accountId ?? '', last?.id ?? '', limit - found.length];
        for (const row of prepare(text).iterate(...values)) {
          found.push(toDoc(row));
          characters += charactersOf(row);
          if (characters > charactersMax) return false;
          if (found.length < limit && turns.isSpent) return true;
        }
        return false;
      };
      while (readSome()) await turns.enter();
      return found;
    },
    findDue(nowMs, limit) {
      if (shape.due === undefined) return { found: [], isAll: true };
      const column = fieldColumn(shape.due);
      const text = `SELECT ${columns} FROM ${table} WHERE ${column} <= ? ORDER BY ${column} LIMIT ?`;
      const found: T[] = [];
      let characters = 0;
      for (const row of prepare(text).iterate(nowMs, limit)) {
        found.push(toDoc(row));
        characters += charactersOf(row);
        if (characters > dueCharactersMax) return { found, isAll: false };
      }
      return { found, isAll: found.length < limit };
    },
  };
}

/** Of the body, which is the first column. */
const charactersOf = (row: unknown): number => ((row as SQLOutputValue[])[0] as string).length;

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
