/**
 * Handles tables without transactions, which a rollback cannot undo. The hub refuses the option in advance if possible,
 * else reports it.
 */

import { HubError } from '@datahub/service-kit/call/error';
import { turnForText } from '@datahub/service-kit/yield-to-loop';
import type { Outcome, RunOptions } from '../../ports/engine.ts';
import { isStopped, stoppedMidway } from '../shared/outcomes.ts';
import { createTextReader, type TextRow } from './results.ts';
import { rollback, showWarnings } from './session.ts';
import { literal, wordsOf } from './text.ts';
import { ok, type Response, type Wire } from './wire.ts';

/** ER_WARNING_NOT_COMPLETE_ROLLBACK */
const incompleteWarning = '1196';

/** A server keeps up to 65,535, if `max_error_count` says so. */
const warningsBytesMax = 24 * 1_048_576;

/** Reads the answer to SHOW WARNINGS, and keeps no row. Call `incomplete()` when the response is complete. */
export function createWarningsReader(hasExtended: boolean): { incomplete(): boolean; response: Response } {
  const { rows, response } = createTextReader(hasExtended, warningsBytesMax);
  let isIncomplete = false;
  return {
    incomplete: () => isIncomplete,
    response: (source, start, end) => {
      const isOver = response(source, start, end);
      isIncomplete ||= rows.pop()?.[1] === incompleteWarning;
      return isOver;
    },
  };
}

/**
 * Whether the server warns that a statement which failed, outside of a transaction, changed tables without transactions.
 * MariaDB does not, and MySQL only if it writes a binary log.
 */
export async function warnsOfRows(isMariadb: boolean, runQuery: RunQuery): Promise<boolean> {
  return !isMariadb && (await runQuery('SELECT @@log_bin'))[0]?.[0] === '1';
}

const rowsRemain =
  'It uses a table without transactions, so the database could not roll back everything: rows may have been changed. Check the data before you repeat it.';

/** The rollback of a transaction of several statements was incomplete. */
export const incompleteError = (): HubError =>
  new HubError('ROLLBACK_INCOMPLETE', `The transaction was rolled back. ${rowsRemain}`, {
    retryable: false,
    partial: true,
  });

/** `err` is the error of the statement. */
export function failedIncompleteError(err: unknown): HubError {
  if (isStopped(err)) return stoppedMidway(err, 'It uses a table without transactions');
  const failure = err instanceof HubError ? err : undefined;
  return new HubError('ROLLBACK_INCOMPLETE', `${failure?.message ?? 'The statement failed.'} ${rowsRemain}`, {
    cause: err,
    retryable: false,
    partial: true,
    ...(failure?.sql === undefined ? {} : { sql: failure.sql }),
  });
}

/** Resolves to false if the server could not undo everything. */
export async function rollBackAll(wire: Wire, hasExtended: boolean): Promise<boolean> {
  const warnings = createWarningsReader(hasExtended);
  wire.send(Buffer.concat([rollback, showWarnings]));
  const { begun, ran } = await wire.exchange([ok, warnings.response], 1);
  if (begun !== undefined || ran !== undefined) throw begun ?? ran;
  return !warnings.incomplete();
}

/** The part of a session that `runInTransaction` uses. */
export interface TransactionSession {
  begin(): Promise<void>;
  execute(): Promise<Outcome>;
  commit(): Promise<void>;
  /** Resolves to false if the server reports that the rollback was incomplete. */
  rollBack(): Promise<boolean>;
  isBroken(): boolean;
}

/** Runs a write in a transaction. Rolls it back for a dry run, or if it affects more than `maxAffected` rows. */
export async function runInTransaction(
  session: TransactionSession,
  { dryRun, maxAffected }: Pick<RunOptions, 'dryRun' | 'maxAffected'>,
): Promise<Outcome> {
  await session.begin();
  let outcome: Outcome;
  try {
    outcome = await session.execute();
  } catch (err) {
    if (session.isBroken() || (await session.rollBack())) throw err;
    throw failedIncompleteError(err);
  }
  const { affectedRows: affected = 0 } = outcome;
  const tooMany = maxAffected !== undefined && affected > maxAffected;
  if (!dryRun && !tooMany) {
    await session.commit();
    return outcome;
  }
  const isUndone = await session.rollBack();
  if (!isUndone) {
    const why = tooMany
      ? `The statement affected ${affected} rows, and at most ${maxAffected} are allowed.`
      : `The dry run affected ${affected} rows.`;
    throw new HubError('ROLLBACK_INCOMPLETE', `${why} ${rowsRemain}`, { retryable: false, partial: true });
  }
  if (!tooMany) return outcome;
  throw new HubError(
    'MAX_AFFECTED',
    `The statement would affect ${affected} rows, and at most ${maxAffected} are allowed. Nothing was changed.`,
    { retryable: false },
  );
}

/** Far more names, and far more tables, than a hand-written statement has. */
const wordsMax = 2_000;
const tablesMax = 500;
/** Of the texts of one level. */
const charactersMax = 1_048_576;
/** The deepest nesting of views in views, and of functions that call functions. */
const levelsMax = 20;

const tooLargeToCheck = () =>
  new HubError(
    'OPTION_REFUSED',
    'The statement, with the views, triggers and functions that it uses, is too large to check whether all its tables have transactions. Leave out dryRun and maxAffected.',
    { stage: 'prepare', retryable: false },
  );

type RunQuery = (query: string) => Promise<TextRow[]>;

/**
 * Throws OPTION_REFUSED if the text names a table without transactions, directly or through a view, a trigger or a
 * function whose definition the source's user may read. Every word of a text counts as a name, so tables that are only
 * read count too.
 */
export async function requireTransactional(text: string, runQuery: RunQuery): Promise<void> {
  const known = new Set<string>();
  const isTransactional = onceAsked(runQuery);
  let tableCount = 0;
  let texts = [text];
  for (let level = 0; texts.length > 0; level++) {
    const words = (await wordsOfAll(texts)).filter((word) => !known.has(word));
    for (const word of words) known.add(word);
    if (words.length === 0) return;
    if (known.size > wordsMax || level === levelsMax) throw tooLargeToCheck();
    const { tables, routines } = await lookUp(words, [...known], runQuery);
    tableCount += tables.length;
    if (tableCount > tablesMax) throw tooLargeToCheck();
    texts = routines;
    requireShort(texts);
    for (const table of tables) {
      const engine = table.engine;
      if (engine !== undefined && !(await isTransactional(engine)))
        throw new HubError(
          'OPTION_REFUSED',
          `The table \`${table.name}\` has no transactions (its engine is ${engine}), so the hub cannot roll the statement back. Leave out dryRun and maxAffected.`,
          { stage: 'prepare', retryable: false },
        );
      texts.push(...(await definitionsOf(table, runQuery)));
      requireShort(texts);
    }
  }
}

/** Throws OPTION_REFUSED for definitions that are too long together. */
function requireShort(texts: readonly string[]): void {
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  if (characters > charactersMax) throw tooLargeToCheck();
}

/** Lets other calls run between long texts. */
async function wordsOfAll(texts: readonly string[]): Promise<string[]> {
  const words = new Set<string>();
  for (const text of texts) {
    await turnForText(text.length);
    for (const word of wordsOf(text)) words.add(word);
  }
  return [...words];
}

export const isRefused = (required: Promise<void>): Promise<boolean> =>
  required.then(
    () => false,
    () => true,
  );

function onceAsked(runQuery: RunQuery): (engine: string) => Promise<boolean> {
  let engines: Set<string | null | undefined> | undefined;
  return async (engine) => {
    engines ??= new Set(
      (await runQuery("SELECT ENGINE FROM information_schema.ENGINES WHERE TRANSACTIONS = 'YES'")).map(
        ([name]) => name,
      ),
    );
    return engines.has(engine);
  };
}

interface Table {
  schema: string;
  name: string;
  /** Undefined for a view, and for a sequence. */
  engine: string | undefined;
  isView: boolean;
}

/**
 * Finds what the words name in the session's schema and in named ones. MariaDB opens every table of a schema unless a
 * query over information_schema names one table, so names are listed first, which opens none.
 */
async function lookUp(
  words: string[],
  known: string[],
  runQuery: RunQuery,
): Promise<{ tables: Table[]; routines: string[] }> {
  const names = words.map(literal).join(',');
  const schemas = known.map(literal).join(',');
  const where = (schema: string, name: string) =>
    `(${schema} = DATABASE() OR ${schema} IN (${schemas})) AND ${name} IN (${names})`;
  const found = await runQuery(`
    SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES
    WHERE ${where('TABLE_SCHEMA', 'TABLE_NAME')}
      AND TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema')`);
  if (found.length > tablesMax) throw tooLargeToCheck();
  const tables: Table[] = [];
  for (const [schema, name] of found as [string, string][]) {
    const [row] = await runQuery(`
      SELECT TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE ${isTable({ schema, name })}`);
    const [type, engine] = row ?? [];
    const isView = type === 'VIEW' || type === 'SYSTEM VIEW';
    tables.push({
      schema,
      name,
      isView,
      engine: isView || type === 'SEQUENCE' ? undefined : (engine ?? undefined),
    });
  }
  const routines = await runQuery(`
    SELECT ROUTINE_SCHEMA, ROUTINE_DEFINITION FROM information_schema.ROUTINES
    WHERE ${where('ROUTINE_SCHEMA', 'ROUTINE_NAME')}`);
  return { tables, routines: routines.flatMap(ofItsSchema) };
}

async function definitionsOf(table: Table, runQuery: RunQuery): Promise<string[]> {
  const rows = await runQuery(
    table.isView
      ? `SELECT TABLE_SCHEMA, VIEW_DEFINITION FROM information_schema.VIEWS WHERE ${isTable(table)}`
      : `SELECT EVENT_OBJECT_SCHEMA, ACTION_STATEMENT FROM information_schema.TRIGGERS
         WHERE EVENT_OBJECT_SCHEMA = ${literal(table.schema)} AND EVENT_OBJECT_TABLE = ${literal(table.name)}`,
  );
  return rows.flatMap(ofItsSchema);
}

const isTable = ({ schema, name }: Pick<Table, 'schema' | 'name'>) =>
  `TABLE_SCHEMA = ${literal(schema)} AND TABLE_NAME = ${literal(name)}`;

/** A definition names objects of its own schema without the schema's name, so the schema is added. */
const ofItsSchema = ([schema, definition]: TextRow) => [definition ?? '', `\`${schema}\``];
