/** A statement to begin with, on a table that was chosen. */

import { quotedTable } from '../../state/schema/names.ts';

const starts: Record<string, string> = {
  postgres: 'SELECT *\nFROM ',
  mysql: 'SELECT *\nFROM ',
  mariadb: 'SELECT *\nFROM ',
  mongodb: '{\n  "find": "",\n  "filter": {},\n  "limit": 100\n}',
};

export function firstQuery(engine: string, table?: { schema: string; name: string }): string {
  if (table === undefined) return starts[engine] ?? '';
  if (engine === 'mongodb')
    return `{\n  "find": ${JSON.stringify(table.name)},\n  "filter": {},\n  "limit": 100\n}`;
  return `SELECT *\nFROM ${quotedTable(table, engine)}\nLIMIT 100`;
}
