/** Verbs of statements that only read. The `command` of a query may also be WITH if the statement begins with it. */
export const readingVerbs = ['SELECT', 'VALUES', 'TABLE', 'SHOW', 'EXPLAIN', 'DESCRIBE', 'DESC'] as const;

/** The MongoDB commands that only read. */
const mongodbReads = ['FIND', 'AGGREGATE', 'COUNT', 'DISTINCT'];

const readingCommands = new Set<string>([...readingVerbs, 'WITH', ...mongodbReads]);

/** True if queries with this command only read. The command must be in upper case. */
export const isReadingCommand = (command: string): boolean => readingCommands.has(command);
