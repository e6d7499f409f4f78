/** Finds the verb of a statement, whether it reads or writes, and whether the hub runs it at all. */

import { readingVerbs } from '@datahub/contract/commands';
import { HubError } from '@datahub/service-kit/call/error';
import type { Dialect, StatementKind } from '../types.ts';
import { endOfBody, storesStatements } from './body.ts';
import { lineAndColumn, rejectAt, type Token } from './lexer.ts';
import { bySyntax } from './syntax.ts';
import { TokenReader } from './token-reader.ts';

const queryVerbs = new Set(['SELECT', 'VALUES', 'TABLE']);
const readVerbs = new Set<string>(readingVerbs);
const writeVerbs = new Set(['INSERT', 'UPDATE', 'DELETE', 'REPLACE', 'MERGE']);
/** With these commands, a statement that begins with SELECT, WITH, VALUES or TABLE runs as a write. */
const writingCommands = new Set([...writeVerbs, 'CALL']);
/** Verbs that run outside of a transaction, because they end it or cannot be part of one. */
const standaloneVerbs = new Set([
  ...['CALL', 'CREATE', 'ALTER', 'DROP', 'TRUNCATE', 'RENAME', 'COMMENT', 'GRANT', 'REVOKE'],
  ...[
    'VACUUM',
    'ANALYZE',
    'REINDEX',
    'CLUSTER',
    'REFRESH',
    'OPTIMIZE',
    'REPAIR',
    'CHECK',
    'CHECKSUM',
    'CHECKPOINT',
  ],
]);

const refusals: Record<string, string> = {
  transaction: 'The hub opens and ends transactions itself, one for each execution.',
  session: 'Connections are shared, so a change to the session would affect other executions.',
  prepared: 'The hub prepares statements itself.',
  files: 'The hub does not run statements that read or write files or streams.',
  other: 'The hub does not run this kind of statement.',
};

const refusedVerbs = new Map<string, string>([
  ...['BEGIN', 'START', 'COMMIT', 'ROLLBACK', 'SAVEPOINT', 'RELEASE', 'END', 'ABORT', 'XA'].map(
    (verb) => [verb, 'transaction'] as const,
  ),
  ...['SET', 'RESET', 'DISCARD', 'USE', 'LOCK', 'UNLOCK', 'LISTEN', 'UNLISTEN', 'NOTIFY', 'FLUSH'].map(
    (verb) => [verb, 'session'] as const,
  ),
  ...['PREPARE', 'EXECUTE', 'DEALLOCATE', 'DECLARE', 'FETCH', 'MOVE', 'CLOSE', 'HANDLER'].map(
    (verb) => [verb, 'prepared'] as const,
  ),
  ...['COPY', 'LOAD', 'IMPORT'].map((verb) => [verb, 'files'] as const),
  ...[
    'DO',
    'KILL',
    'SHUTDOWN',
    'INSTALL',
    'UNINSTALL',
    'DELIMITER',
    'SECURITY',
    'HELP',
    'CACHE',
    'PURGE',
    'CHANGE',
    'BINLOG',
  ].map((verb) => [verb, 'other'] as const),
]);

export interface Shape {
  verb: string;
  kind: StatementKind;
  /** True if the database does not count all rows that the statement writes: a WITH clause or a SELECT writes. */
  uncounted: boolean;
  /** The tokens of the statement, without a semicolon at the end. */
  tokens: Token[];
}

/** Throws SQL_REJECTED or COMMAND_MISMATCH. `command` is upper case. */
export function checkShape(
  text: string,
  tokens: Token[],
  options: { command: string; dialect: Dialect },
): Shape {
  const own = onlyStatement(text, tokens, options.dialect);
  const verb = findVerb(own);
  if (verb === undefined) throw rejectAt(text, own[0]?.start ?? 0, 'The text contains no statement.');
  const refused = refusedVerbs.get(verb.text);
  if (refused !== undefined)
    throw rejectAt(text, verb.start, `${verb.text} is refused. ${refusals[refused]}`);
  const isQuery = queryVerbs.has(verb.text);
  const isWritingQuery = isQuery && writingCommands.has(options.command);
  const kind = isWritingQuery ? 'write' : kindOf(verb.text);
  if (kind === undefined)
    throw rejectAt(text, verb.start, `The hub does not run statements that start with ${verb.text}.`);
  if (!isWritingQuery && !agree(options.command, verb.text, own[0]?.text === 'WITH')) {
    throw new HubError('COMMAND_MISMATCH', mismatchOf(verb.text, options.command, isQuery), {
      stage: 'prepare',
      retryable: false,
      sql: lineAndColumn(text, verb.start),
    });
  }
  const variable = own.find((token) => token.kind === 'variable');
  if (variable !== undefined && storesStatements(own))
    throw rejectAt(
      text,
      variable.start,
      `:${variable.text} has no value when the routine, trigger, event or rule runs. Remove it, or write the value.`,
    );
  // MariaDB runs the statement that follows ANALYZE.
  if (kind === 'read' || isQuery || verb.text === 'ANALYZE') rejectInto(text, own, options.dialect);
  const uncounted = isWritingQuery || [...writesInWith(own)].length > 0;
  return { verb: verb.text, kind, uncounted, tokens: own };
}

function mismatchOf(verb: string, command: string, isQuery: boolean): string {
  const other = isQuery ? ', or to CALL if it also writes' : '';
  return `The statement is ${article(verb)} ${verb}, but the command is ${command}. Set the command to ${verb} if that is what you want to run${other}.`;
}

/** Finds the verbs that write in a WITH clause, as in `AS (DELETE …`, `AS MATERIALIZED (DELETE …`, `AS (WITH … DELETE …`. */
export function* writesInWith(tokens: readonly Token[]): Iterable<Token> {
  /** For each open parenthesis: whether it follows AS, and what was read of its statement. */
  const open: { isBody: boolean; read: 'nothing' | 'WITH' | 'verb' }[] = [];
  for (const [i, token] of tokens.entries()) {
    const { kind, text } = token;
    const inner = open.at(-1);
    if (kind === 'symbol' && text === '(') {
      const before = tokens[i - 1];
      open.push({ isBody: before?.kind === 'word' && beforeBody.has(before.text), read: 'nothing' });
    } else if (kind === 'symbol' && text === ')') open.pop();
    else if (inner?.isBody && inner.read === 'nothing' && kind === 'word' && text === 'WITH')
      inner.read = 'WITH';
    else if (inner?.isBody && inner.read !== 'verb') {
      const isVerb = kind === 'word' && (queryVerbs.has(text) || writeVerbs.has(text));
      if (isVerb && writeVerbs.has(text)) yield token;
      if (isVerb || inner.read === 'nothing') inner.read = 'verb';
    }
  }
}

const beforeBody = new Set(['AS', 'MATERIALIZED']);

function onlyStatement(text: string, tokens: Token[], dialect: Dialect): Token[] {
  const isSemicolon = ({ kind, text: symbol }: Token) => kind === 'symbol' && symbol === ';';
  const body = tokens.some(isSemicolon) ? endOfBody(tokens, dialect) : 0;
  const end = tokens.findIndex((token, i) => i >= body && isSemicolon(token));
  if (end < 0) return tokens;
  const after = tokens.slice(end + 1).find((token) => !isSemicolon(token));
  if (after !== undefined)
    throw rejectAt(text, after.start, 'A stored query must be one statement. A second one starts here.');
  return tokens.slice(0, end);
}

/** Returns the first word after opening parentheses; after WITH, the verb of the main statement. */
export function findVerb(tokens: Token[]): Token | undefined {
  const reader = new TokenReader(tokens);
  let isAfterWith = false;
  for (;;) {
    while (reader.takes('('));
    const { next } = reader;
    if (!reader.takes('WITH')) {
      const isVerb = !isAfterWith || queryVerbs.has(next?.text ?? '') || writeVerbs.has(next?.text ?? '');
      return next?.kind === 'word' && isVerb ? next : undefined;
    }
    isAfterWith = true;
    if (!takesWith(reader)) return undefined;
  }
}

/** Goes past the queries of a WITH clause. Their names can be words such as `insert`. */
function takesWith(reader: TokenReader): boolean {
  const isName = reader.is('AS', 1) || reader.is('(', 1);
  if (!isName) reader.takes('RECURSIVE');
  do {
    while (!(reader.isOver || reader.is('AS') || reader.is('('))) reader.at++;
    if (reader.is('(') && !reader.takesGroup()) return false;
    if (!reader.takes('AS')) return false;
    reader.takes('NOT');
    reader.takes('MATERIALIZED');
    if (!reader.is('(') || !reader.takesGroup()) return false;
    if (reader.takes('SEARCH')) {
      reader.at += 3;
      takesNames(reader);
      reader.at += 2;
    }
    if (reader.takes('CYCLE')) {
      takesNames(reader);
      if (!reader.takes('RESTRICT')) {
        if (!reader.finds('USING')) return false;
        reader.at += 2;
      }
    }
  } while (reader.takes(','));
  return true;
}

function takesNames(reader: TokenReader): void {
  do reader.at++;
  while (reader.takes(','));
}

/** Returns undefined for a verb that the hub does not run. */
export function kindOf(verb: string): StatementKind | undefined {
  if (readVerbs.has(verb)) return 'read';
  if (writeVerbs.has(verb)) return 'write';
  return standaloneVerbs.has(verb) ? 'standalone' : undefined;
}

function agree(command: string, verb: string, startsWith: boolean): boolean {
  if (command === verb) return true;
  if (command === 'WITH') return startsWith && queryVerbs.has(verb);
  if (command === 'DESCRIBE' || command === 'DESC') return verb === 'DESCRIBE' || verb === 'DESC';
  return command === 'SELECT' && queryVerbs.has(verb);
}

const article = (word: string) => (/^[AEIOU]/.test(word) ? 'an' : 'a');

/** Words that can precede the INSERT of an EXPLAIN on MySQL and MariaDB. */
const explainWords = new Set([
  ...['EXPLAIN', 'DESCRIBE', 'DESC', 'ANALYZE', 'EXTENDED', 'PARTITIONS'],
  ...['FORMAT', '=', 'JSON', 'TREE', 'TRADITIONAL'],
]);

/**
 * True if the INTO belongs to an INSERT, which the read-only session prevents. On MySQL and MariaDB this is only true
 * in an EXPLAIN: elsewhere INSERT can be part of a name (`t.insert`, `@insert`, `1insert`), after which INTO writes a
 * file.
 */
function isInserting(tokens: Token[], at: number, dialect: Dialect): boolean {
  const verb = tokens[at - 1]?.text ?? '';
  return bySyntax(dialect, {
    postgres: () => verb === 'INSERT' || verb === 'MERGE',
    mysql: () =>
      (verb === 'INSERT' || verb === 'REPLACE') &&
      tokens.slice(0, at - 1).every(({ text }) => explainWords.has(text)),
  })();
}

/** Rejects SELECT … INTO, which creates a table, a file or a variable. */
function rejectInto(text: string, tokens: Token[], dialect: Dialect): void {
  const into = tokens.find(
    ({ kind, text: word }, i) => kind === 'word' && word === 'INTO' && !isInserting(tokens, i, dialect),
  );
  if (into === undefined) return;
  throw rejectAt(text, into.start, 'INTO writes the result to a table, a file or a variable. Remove it.');
}
