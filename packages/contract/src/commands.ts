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
