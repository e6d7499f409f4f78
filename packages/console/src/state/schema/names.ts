/** Names as they stand in a statement: quoted where the engine would read them as something else. */

const plain: Record<string, RegExp> = {
  // Without quotes PostgreSQL folds capitals.
  postgres: /^[a-z_][a-z0-9_$]*$/,
  mysql: /^[A-Za-z_][\w$]*$/,
  mariadb: /^[A-Za-z_][\w$]*$/,
};
/** Names that people give to tables and columns, and that every engine reserves. */
const reserved = new Set(
  'all and as asc between by case check column create default delete desc distinct drop else end exists from group having in index insert into is join key limit not null on or order primary references select set table then to union unique update user using values when where with'.split(
    ' ',
  ),
);

export function quotedName(name: string, engine: string): string {
  if (plain[engine]?.test(name) !== false && !reserved.has(name.toLowerCase())) return name;
  const quote = engine === 'postgres' ? '"' : '`';
  return quote + name.replaceAll(quote, quote + quote) + quote;
}
