/** Joins that the foreign keys of a source allow. */

import { isReserved, quotedName, quotedTable } from './names.ts';
import type { Completion, TableJson } from './protocol.ts';

export interface Mentioned {
  table: TableJson;
  /** In lower case. The name of the table if the statement gives no alias. */
  alias: string;
  /** The alias, or the name, as it stands in a statement. */
  written: string;
}

/** A short name that no table of the statement has: `order_items` becomes `oi`. */
export function aliasFor(name: string, taken: ReadonlySet<string>, engine: string): string {
  const letters = name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((part) => /^[a-z]/.exec(part)?.[0] ?? '')
    .join('');
  const plain = letters || 't';
  let alias = plain;
  for (let count = 2; taken.has(alias) || isReserved(alias, engine); count++) alias = `${plain}${count}`;
  return alias;
}

interface Side {
  schema: string;
  table: string;
  columns: string[];
}

/** A foreign key. */
export interface Relation {
  from: Side;
  to: Side;
}

export const relationsOf = (tables: readonly TableJson[]): Relation[] =>
  tables.flatMap(({ schema, name, foreignKeys }) =>
    foreignKeys.map((key) => ({
      from: { schema, table: name, columns: key.columns },
      to: { schema: key.schema, table: key.table, columns: key.referencedColumns },
    })),
  );

/**
 * Offers each table that a foreign key connects with a table of the statement and whose name begins with `prefix`, with
 * its condition.
 */
export function joinsOf(
  mentioned: readonly Mentioned[],
  relations: readonly Relation[],
  { prefix, engine }: { prefix: string; engine: string },
): Completion[] {
  const taken = new Set(mentioned.map(({ alias }) => alias));
  const quoted = (name = '') => quotedName(name, engine);
  return mentioned.flatMap(({ table, written }) =>
    relations.flatMap((relation): Completion[] => {
      const { from, to } = relation;
      const isFrom = from.schema === table.schema && from.table === table.name;
      const isTo = to.schema === table.schema && to.table === table.name;
      if (!isFrom && !isTo) return [];
      const [own, other] = isFrom ? [from, to] : [to, from];
      if (!other.table.toLowerCase().startsWith(prefix)) return [];
      const short = aliasFor(other.table, taken, engine);
      const conditions = other.columns.map(
        (column, i) => `${short}.${quoted(column)} = ${written}.${quoted(own.columns[i])}`,
      );
      const joined = quotedTable({ schema: other.schema, name: other.table }, engine);
      const text = `${joined} ${short} ON ${conditions.join(' AND ')}`;
      return [{ label: text, kind: 'join', detail: 'foreign key', insert: text }];
    }),
  );
}
