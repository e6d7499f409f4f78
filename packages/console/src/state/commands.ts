/** What a statement does, by its verb. */

import { isReadingCommand } from '@datahub/contract/commands';

const transactional = new Set(['INSERT', 'UPDATE', 'DELETE', 'REPLACE', 'MERGE']);
const mongo: Record<string, string> = { insert: 'INSERT', update: 'UPDATE', delete: 'DELETE' };

export const commands = [
  ...[
    'SELECT',
    'VALUES',
    'TABLE',
    'SHOW',
    'EXPLAIN',
    'DESCRIBE',
    'INSERT',
    'UPDATE',
    'DELETE',
    'REPLACE',
    'MERGE',
  ],
  ...[
    'CALL',
    'CREATE',
    'ALTER',
    'DROP',
    'TRUNCATE',
    'RENAME',
    'COMMENT',
    'GRANT',
    'REVOKE',
    'VACUUM',
    'ANALYZE',
  ],
  ...['REINDEX', 'CLUSTER', 'REFRESH', 'OPTIMIZE', 'REPAIR', 'CHECK', 'CHECKSUM', 'CHECKPOINT'],
];

/** An empty command is that of a query that is not loaded. */
export const reads = (command: string): boolean => command === '' || isReadingCommand(command.toUpperCase());

/** Whether the hub can run it and roll it back. */
export const canDryRun = (command: string, engine: string): boolean =>
  transactional.has(command.toUpperCase()) && engine !== 'mongodb';

const skipped = /--[^\n]*|\/\*[\s\S]*?(\*\/|$)|'(?:[^'\\]|\\.|'')*('|$)|"[^"]*("|$)|`[^`]*(`|$)/g;

/** The command of a text, as far as a look at it tells; undefined where the hub has to say. */
export function commandOf(text: string, engine: string): string | undefined {
  if (engine === 'mongodb') {
    const name = /^\s*\{\s*"(\w+)"/.exec(text)?.[1];
    return name === undefined ? undefined : (mongo[name] ?? 'SELECT');
  }
  const plain = text.replaceAll(skipped, ' ');
  const verb = /^[\s(]*([A-Za-z]+)/.exec(plain)?.[1]?.toUpperCase();
  if (verb === 'WITH') return mainVerb(plain);
  if (verb === 'DESC') return 'DESCRIBE';
  return verb !== undefined && commands.includes(verb) ? verb : undefined;
}

/** The verb after the parts of a WITH, outside of brackets. */
function mainVerb(plain: string): string {
  let depth = 0;
  for (const [token] of plain.matchAll(/[()]|[A-Za-z_]+/g)) {
    if (token === '(') depth++;
    else if (token === ')') depth--;
    else if (depth === 0 && /^(select|values|table|insert|update|delete|merge)$/i.test(token)) {
      const verb = token.toUpperCase();
      return verb === 'VALUES' || verb === 'TABLE' ? 'SELECT' : verb;
    }
  }
  return 'SELECT';
}
