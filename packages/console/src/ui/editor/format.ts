/** Formats a statement in the dialect of its engine, a separate bundle. Variables keep their form. */

import { formatDialect, mariadb, mysql, postgresql } from 'sql-formatter';
import { indented } from '../grid/indented.ts';

const dialects = { postgres: postgresql, mysql, mariadb };

export function formatStatement(text: string, engine: string): string {
  if (engine === 'mongodb') {
    // It must be JSON, and its numbers keep their digits.
    JSON.parse(text);
    return indented(text.trim());
  }
  const dialect = dialects[engine as keyof typeof dialects];
  if (dialect === undefined) return text;
  return formatDialect(text, {
    dialect,
    keywordCase: 'upper',
    tabWidth: 2,
    linesBetweenQueries: 1,
    paramTypes: { named: [':'], custom: [{ regex: String.raw`\{\{\s*\w+\s*\}\}` }] },
  });
}
