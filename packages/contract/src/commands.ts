/** Verbs of statements that only read. A query's `command` may also be WITH, for a statement that begins with it. */
export const readingVerbs = ['SELECT', 'VALUES', 'TABLE', 'SHOW', 'EXPLAIN', 'DESCRIBE', 'DESC'] as const;

/** MongoDB's own names, which stand for SELECT. */
const mongodbReads = ['FIND', 'AGGREGATE', 'COUNT', 'DISTINCT'];

const readingCommands = new Set<string>([...readingVerbs, 'WITH', ...mongodbReads]);

/** Whether queries with this command, in upper case, only read. */
export const isReadingCommand = (command: string): boolean => readingCommands.has(command);
