/** What a statement does, by its verb. */

import { isReadingCommand } from '@datahub/contract/commands';

const transactional = new Set(['INSERT', 'UPDATE', 'DELETE', 'REPLACE', 'MERGE']);

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
