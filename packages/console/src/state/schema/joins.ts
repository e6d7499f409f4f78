/** Joins that the foreign keys of a source allow. */

import type { Completion, TableJson } from './protocol.ts';

interface Mentioned {
  table: { schema: string; name: string };
  alias: string;
}

/** A short name that no table of the statement has: `order_items` becomes `oi`. */
export function aliasFor(name: string, taken: ReadonlySet<string>): string {
  const letters = name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((part) => /^[a-z]/.exec(part)?.[0] ?? '')
    .join('');
  const plain = letters || 't';
  let alias = plain;
  for (let count = 2; taken.has(alias) || /^(as|by|in|is|on|or|to)$/.test(alias); count++)
    alias = `${plain}${count}`;
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

/** Offers each table that a foreign key connects with a table of the statement, with its condition. */
export function joinsOf(mentioned: readonly Mentioned[], relations: readonly Relation[]): Completion[] {
  const taken = new Set(mentioned.map(({ alias }) => alias));
  return mentioned.flatMap(({ table, alias }) =>
    relations.flatMap((relation): Completion[] => {
      const { from, to } = relation;
      const isFrom = from.schema === table.schema && from.table === table.name;
      const isTo = to.schema === table.schema && to.table === table.name;
      if (!isFrom && !isTo) return [];
      const [own, other] = isFrom ? [from, to] : [to, from];
      const short = aliasFor(other.table, taken);
      const conditions = other.columns.map(
        (column, i) => `${short}.${column} = ${alias}.${own.columns[i] ?? ''}`,
      );
      const text = `${other.table} ${short} ON ${conditions.join(' AND ')}`;
      return [{ label: text, kind: 'join', detail: 'foreign key', insert: text }];
    }),
  );
}
