/** Formats a statement in the dialect of its engine, a separate bundle. Variables keep their form. */

import { formatDialect, mariadb, mysql, postgresql } from 'sql-formatter';
import { indented } from '../grid/indented.ts';
import { keepMeaning } from './same-statement.ts';

const dialects = { postgres: postgresql, mysql, mariadb };

export function formatStatement(text: string, engine: string): string {
  if (engine === 'mongodb') {
    // It must be JSON, and its numbers keep their digits.
    JSON.parse(text);
    return indented(text.trim());
  }
  if (!(engine in dialects)) return text;
  const sqlEngine = engine as keyof typeof dialects;
  const formatted = formatDialect(text, {
    dialect: dialects[sqlEngine],
    keywordCase: 'upper',
    tabWidth: 2,
    linesBetweenQueries: 1,
    paramTypes: { named: [':'], custom: [{ regex: String.raw`\{\{\s*\w+\s*\}\}` }] },
  });
  return keepMeaning(text, formatted, sqlEngine);
}
