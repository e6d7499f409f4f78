/** A statement to begin with, on a table that was chosen. */

import { quotedName } from '../../state/schema/names.ts';

const starts: Record<string, string> = {
  postgres: 'SELECT *\nFROM ',
  mysql: 'SELECT *\nFROM ',
  mariadb: 'SELECT *\nFROM ',
  mongodb: '{\n  "find": "",\n  "filter": {},\n  "limit": 100\n}',
};

export function firstQuery(engine: string, table?: { schema: string; name: string }): string {
  if (table === undefined) return starts[engine] ?? '';
  const { schema, name } = table;
  if (engine === 'mongodb')
    return `{\n  "find": ${JSON.stringify(name)},\n  "filter": {},\n  "limit": 100\n}`;
  // Only PostgreSQL has schemas in a database; elsewhere a source is one.
  const inSchema = engine === 'postgres' && schema !== 'public' ? `${quotedName(schema, engine)}.` : '';
  return `SELECT *\nFROM ${inSchema}${quotedName(name, engine)}\nLIMIT 100`;
}
