/** Reads the rows of pages. */

import { nextTurn } from '@datahub/service-kit/yield-to-loop';
import type { Shape } from '../collection-spec.ts';
import type { CheckedPage } from '../filter.ts';
import { beyond, namesOf, type Prepare, type Range, toCondition, toRange } from './condition.ts';
import type { ReadTurns } from './read-turns.ts';
import { indexedFields, indexOf, tableOf } from './schema.ts';
import { stretchesOf } from './stretches.ts';

interface Selected {
  columns: string;
  /** True for the columns of a summary. */
  isSummary?: boolean;
}

/**
 * Returns a function that calls `take` with the rows of a page, until it returns no id. Index entries that are not of the
 * page, before its offset or with other values, are walked in stretches. What a turn is too short for is read in later
 * ones, with what is written in between.
 */
export function createSelect({ prepare, turns }: { prepare: Prepare; turns: ReadTurns }, shape: Shape) {
  const table = tableOf(shape);
  /** Whether the index of ids covers the summary. */
  const summaryById = shape.summaryBy === undefined && shape.summaryFields.length > 0;

  /** Skips index entries, because skipping rows would read their bodies. */
  function idAt(range: Range, offset: number, descending: boolean): string {
    const { sql, values } = toCondition(range);
    const text = `SELECT id FROM ${table} INDEXED BY ${indexOf(shape, indexedFields(shape, namesOf(range)))}
      WHERE ${sql} ORDER BY id ${orderOf(descending)} LIMIT 1 OFFSET ?`;
    return (prepare(text).get(...values, offset) as unknown as [string])[0];
  }

  return async (
    { offset, limit, descending, ...filter }: CheckedPage,
    { columns, isSummary = false }: Selected,
    /** Returns the id of the row; undefined if the page ends with it. */
    take: (row: unknown) => string | undefined,
  ): Promise<void> => {
    const range = toRange(filter);
    const indexed = indexedFields(shape, namesOf(range));
    const isIndexed = indexed.length === range.where.length;
    // Without an indexed field the primary key has the order and the rows.
    const isByKey = indexed.length === 0 && !(isSummary && summaryById);
    let taken = 0;
    let isFull = limit === 0;
    /** Returns the id of the last row if a later turn must read the rest. */
    const readSome = (part: Range): string | undefined => {
      const { sql, values } = toCondition(part);
      const by = isByKey ? '' : ` INDEXED BY ${indexOf(shape, indexed)}`;
      const text = `SELECT ${columns} FROM ${table}${by} WHERE ${sql} ORDER BY id ${orderOf(descending)} LIMIT ?`;
      for (const row of prepare(text).iterate(...values, limit - taken)) {
        taken++;
        const id = take(row);
        isFull = id === undefined || taken === limit;
        if (isFull) break;
        if (turns.isSpent) return id;
      }
      return undefined;
    };
    const read = async (part: Range): Promise<void> => {
      let last = readSome(part);
      while (last !== undefined) {
        await turns.enter();
        last = readSome(beyond(part, last, descending));
      }
    };
    if (isFull) return;
    if (offset === 0 && isIndexed) return read(range);
    let toSkip = offset;
    for (const { range: part, found, end } of stretchesOf({ prepare, shape }, range, descending)) {
      if (found > toSkip) {
        // If the index has the whole filter, all entries from here on are of the page.
        const open = descending ? { ...range, upper: part.upper } : { ...range, lower: part.lower };
        const rest = isIndexed ? open : part;
        await read(toSkip === 0 ? rest : beyond(rest, idAt(part, toSkip - 1, descending), descending));
        toSkip = 0;
        if (isIndexed || isFull) return;
      } else toSkip -= found;
      if (end !== undefined) await nextTurn();
    }
  };
}

const orderOf = (descending: boolean) => (descending ? 'DESC' : 'ASC');
