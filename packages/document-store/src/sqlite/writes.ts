import type { SQLInputValue } from 'node:sqlite';
import type { Shape } from '../collection-spec.ts';
import type { Stored } from '../document.ts';
import type { CounterStep, DeleteGuard, Scalar } from '../document-store.ts';
import type { CheckedFilter } from '../filter.ts';
import { namesOf, type Prepare, toCondition, toRange } from './condition.ts';
import type { Counted } from './counts.ts';
import { bytesColumn, counterColumn, fieldColumn, indexedFields, indexOf, tableOf } from './schema.ts';

/** The statements of a collection. Each runs inside a transaction that the caller opened. */
export interface Writes {
  insert(doc: Stored): void;
  /** Runs statements in a savepoint: all take effect or none. */
  atomically<R>(work: () => R): R;
  /** Inserts those whose ids do not exist, and returns them; none if one has a unique value that exists. */
  insertMany(docs: readonly Stored[]): Stored[];
  replace(doc: Stored): boolean;
  /** In the order of `shape.fields`. */
  fieldsOf(accountId: string, id: string): Scalar[] | null;
  delete(accountId: string, id: string, guard: DeleteGuard): boolean;
  deleteMany(filter: CheckedFilter, limit: number): Removed;
  add(accountId: string, id: string, step: CounterStep): number | null;
  sweepExpired(nowMs: number, limit: number, by?: Scalar): Removed;
}

/** What one statement has deleted. */
export interface Removed {
  removed: Counted[];
  /** True if it left some of the first `limit` documents, because one statement would take too long for all. */
  leftSome: boolean;
}

/** A statement frees the pages of what it deletes, three milliseconds for each megabyte, and nothing else runs meanwhile. */
const removedBytesMax = 4 * 1_048_576;

/** The texts that do not depend on the call. */
function textsOf(shape: Shape, table: string) {
  const fields = shape.fields.map(fieldColumn);
  const bytes = shape.bytes.map(bytesColumn);
  const all = [
    'account_id',
    'id',
    'version',
    'body',
    ...fields,
    ...shape.counters.map(counterColumn),
    ...bytes,
  ];
  const insertSql = `INSERT INTO ${table} (${all.join(', ')}) VALUES (${all.map(() => '?').join(', ')})`;
  const sets = ['version', 'body', ...fields, ...bytes].map((column) => `${column} = ?`).join(', ');
  const fieldsSql = `SELECT ${fields.join(', ') || 'NULL'} FROM ${table} WHERE account_id = ? AND id = ?`;
  const replaceSql = `UPDATE ${table} SET ${sets} WHERE account_id = ? AND id = ? AND version = ?`;
  return { insertSql, fieldsSql, replaceSql };
}

export function createWrites(prepare: Prepare, shape: Shape): Writes {
  const table = tableOf(shape);
  const { insertSql, fieldsSql, replaceSql } = textsOf(shape, table);

  function run(sql: string, values: SQLInputValue[]): number {
    return Number(prepare(sql).run(...values).changes);
  }

  const valuesOf = ({ accountId, id, version, body, fields, counters, bytes }: Stored) => [
    ...[accountId, id, version, body],
    ...[...fields, ...counters, ...bytes],
  ];

  const remove = createRemove(prepare, shape);
  const atomically = <R>(work: () => R): R => runAtomically(prepare, work);

  return {
    insert: (doc) => void run(insertSql, valuesOf(doc)),
    atomically,
    insertMany: (docs) =>
      atomically(() =>
        docs.filter(
          (doc) => run(`${insertSql} ON CONFLICT (account_id, id) DO NOTHING`, valuesOf(doc)) === 1,
        ),
      ),
    replace({ accountId, id, version, body, fields: values, bytes: parts }) {
      return run(replaceSql, [version, body, ...values, ...parts, accountId, id, version - 1]) === 1;
    },
    fieldsOf(accountId, id) {
      const row = prepare(fieldsSql).get(accountId, id) as unknown as Scalar[] | undefined;
      return row ?? null;
    },
    delete(accountId, id, { version, zero }) {
      const values: SQLInputValue[] = [accountId, id];
      if (version !== undefined) values.push(version);
      const guards = `${version === undefined ? '' : ' AND version = ?'}${zero === undefined ? '' : ` AND ${counterColumn(zero)} = 0`}`;
      return run(`DELETE FROM ${table} WHERE account_id = ? AND id = ?${guards}`, values) === 1;
    },
    deleteMany(filter, limit) {
      const { sql, values } = toCondition(toRange(filter));
      const rest = `FROM ${table} INDEXED BY ${indexOf(shape, indexedFields(shape, namesOf(filter)))}
        WHERE ${sql} ORDER BY id LIMIT ?`;
      return remove(rest, values, limit);
    },
    add(accountId, id, { counter, by }) {
      const column = counterColumn(counter);
      const text = `UPDATE ${table} SET ${column} = ${column} + ? WHERE account_id = ? AND id = ? RETURNING ${column}`;
      const row = prepare(text).get(by, accountId, id) as unknown as [number] | undefined;
      return row === undefined ? null : row[0];
    },
    sweepExpired(nowMs, limit, by = null) {
      if (shape.expires === undefined) return { removed: [], leftSome: false };
      const column = fieldColumn(shape.expires);
      const group = shape.expiresBy === undefined ? '' : `${fieldColumn(shape.expiresBy)} IS ? AND`;
      const rest = `FROM ${table} WHERE ${group} ${column} <= ? ORDER BY ${column} LIMIT ?`;
      return remove(rest, shape.expiresBy === undefined ? [nowMs] : [by, nowMs], limit);
    },
  };
}

/**
 * Returns a function that deletes the first rows of a condition, at least one. `rest` is what follows the columns in a
 * SELECT of the rows.
 */
function createRemove(prepare: Prepare, shape: Shape) {
  const table = tableOf(shape);
  const sizeSql = ['body', ...shape.bytes.map(bytesColumn)]
    .map((column) => `coalesce(octet_length(${column}), 0)`)
    .join(' + ');
  const returned = ['account_id', 'id', ...shape.fields.map(fieldColumn)].join(', ');
  return (rest: string, values: SQLInputValue[], limit: number): Removed => {
    let first = 0;
    let bytes = 0;
    let leftSome = false;
    // Each look at a row by an index reads rows of up to a megabyte, so no more are looked at than are deleted.
    for (const row of prepare(`SELECT ${sizeSql} ${rest}`).iterate(...values, limit)) {
      leftSome = bytes >= removedBytesMax;
      if (leftSome) break;
      bytes += (row as unknown as [number])[0];
      first++;
    }
    const text = `DELETE FROM ${table} WHERE (account_id, id) IN (SELECT account_id, id ${rest}) RETURNING ${returned}`;
    const rows = prepare(text).all(...values, first) as unknown as [string, string, ...Scalar[]][];
    const removed = rows.map(([accountId, id, ...fields]) => ({ accountId, id, fields }));
    return { removed, leftSome };
  };
}

function runAtomically<R>(prepare: Prepare, work: () => R): R {
  prepare('SAVEPOINT many').run();
  try {
    return work();
  } catch (err) {
    prepare('ROLLBACK TO many').run();
    throw err;
  } finally {
    prepare('RELEASE many').run();
  }
}
