/**
 * Walks index entries in stretches that fit into a turn of the event loop: SQLite computes on the thread of the process,
 * 0.2 to 1 µs for each entry.
 */

import type { Shape } from '../collection-spec.ts';
import { beyond, namesOf, type Prepare, type Range, toCondition, upTo } from './condition.ts';
import { fieldColumn, indexedFields, indexOf, tableOf } from './schema.ts';

/** Entries of the first stretch, which is read in the turn of its caller, and of the others, which have their own. */
export const firstStretch = 1_000;
const stretchMax = 10_000;

export interface Stretch {
  /** The part of the walked range. */
  range: Range;
  /** How many documents of the range are there. */
  found: number;
  /** The last id in the order of the walk; undefined if the walk is over. */
  end: string | undefined;
}

/**
 * Reads the stretches of a range in the order of ids, each when it is asked for. Wait for `nextTurn` before asking for
 * another. What is written in between is seen by those that follow.
 */
export function* stretchesOf(
  { prepare, shape }: { prepare: Prepare; shape: Shape },
  range: Range,
  descending = false,
): Generator<Stretch, undefined> {
  const indexed = indexedFields(shape, namesOf(range));
  const isIndexed = ({ name }: { name: string }) => indexed.includes(name);
  const compared = range.where.filter((one) => !isIndexed(one));
  const isFound = compared.map(({ name }) => `${fieldColumn(name)} IS ?`).join(' AND ') || '1';
  let rest: Range = { ...range, where: range.where.filter(isIndexed) };
  for (let limit = firstStretch; ; limit = stretchMax) {
    const { sql, values } = toCondition(rest);
    const entries = `SELECT id, ${isFound} AS found FROM ${tableOf(shape)} INDEXED BY ${indexOf(shape, indexed)}
      WHERE ${sql} ORDER BY id ${descending ? 'DESC' : 'ASC'} LIMIT ?`;
    const text = `SELECT count(*), total(found), ${descending ? 'min' : 'max'}(id) FROM (${entries})`;
    const row = prepare(text).get(...compared.map(({ value }) => value), ...values, limit);
    const [count, found, last] = row as unknown as [number, number, string];
    const end = count < limit ? undefined : last;
    const walked = end === undefined ? rest : upTo(rest, end, descending);
    yield { range: { ...walked, where: range.where }, found, end };
    if (end === undefined) return;
    rest = beyond(rest, end, descending);
  }
}
