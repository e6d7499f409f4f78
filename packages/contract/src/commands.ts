import { transactionCommand } from './transactions.ts';

/** Verbs of statements that only read. The `command` of a query may also be WITH if the statement begins with it. */
export const readingVerbs = ['SELECT', 'VALUES', 'TABLE', 'SHOW', 'EXPLAIN', 'DESCRIBE', 'DESC'] as const;

/** The MongoDB commands that only read. */
const mongodbReads = ['FIND', 'AGGREGATE', 'COUNT', 'DISTINCT'];

const readingCommands = new Set<string>([...readingVerbs, 'WITH', ...mongodbReads]);

/** True if queries with this command only read. The command must be in upper case. */
export const isReadingCommand = (command: string): boolean => readingCommands.has(command);

/** An executor may run a query as it was so long ago, and clocks differ. */
const changedMs = 60_000;

/** True if an execution that began at `begunAt` ran the query as it is now. Both are times of the clock in milliseconds. */
export const ranAsItIs = (updatedAt: number | null | undefined, begunAt: number): boolean =>
  (updatedAt ?? 0) < begunAt - changedMs;

const countedCommands = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE', 'REPLACE']);

/** Commands of one kind take the same options and routes. */
const kindOf = (command: string): string =>
  isReadingCommand(command) ? 'read' : countedCommands.has(command) ? 'write' : command;

/** Says why a call that succeeded can fail once the query has another command. */
export function lossOfCommand(before = 'SELECT', after = 'SELECT'): string | undefined {
  const [old, next] = [before, after].map((command) => kindOf(command.trim().toUpperCase()));
  if (old === next || old === transactionCommand) return undefined;
  return old === 'read'
    ? 'calls over GET fail, and others need the scope queries:execute:write'
    : 'records in bulk and options of a call can be refused';
}
