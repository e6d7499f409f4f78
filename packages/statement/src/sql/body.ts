/**
 * Finds the end of a body with several statements: of a routine, trigger or event of MySQL and MariaDB, of a routine of
 * PostgreSQL with BEGIN ATOMIC, or of a rule. The words of blocks can be names elsewhere (`end` can be a column), so a
 * body is read statement by statement. Where this is not certain, the statement ends at its first semicolon.
 */

import type { Dialect } from '../types.ts';
import type { Token } from './lexer.ts';
import { bySyntax } from './syntax.ts';
import { TokenReader } from './token-reader.ts';

/** Returns the place behind the body; 0 if the statement has none. */
export function endOfBody(tokens: readonly Token[], dialect: Dialect): number {
  const reader = new TokenReader(tokens);
  const isAltered = reader.takes('ALTER');
  if (!isAltered && !reader.takes('CREATE')) return 0;
  reader.takes('OR', 'REPLACE');
  const isRead = bySyntax(dialect, {
    postgres: () => !isAltered && takesPostgresBody(reader),
    mysql: () => takesMysqlHead(reader, isAltered) && takesBlock(reader),
  })();
  return isRead ? reader.at : 0;
}

/** True for a statement that stores others: a variable in them would have no value when they run. */
export function storesStatements(tokens: readonly Token[]): boolean {
  const reader = new TokenReader(tokens);
  if (!reader.takes('ALTER') && !reader.takes('CREATE')) return false;
  reader.takes('OR', 'REPLACE');
  takesDefiner(reader);
  reader.takes('AGGREGATE');
  return reader.isAny(storing);
}

const storing = new Set(['FUNCTION', 'PROCEDURE', 'TRIGGER', 'EVENT', 'RULE']);
const routines = new Set(['FUNCTION', 'PROCEDURE']);

function takesPostgresBody(reader: TokenReader): boolean {
  if (reader.takes('RULE')) {
    if (!reader.finds('DO')) return false;
    reader.at++;
    reader.takesAny(afterDo);
    return reader.is('(') && reader.takesGroup({ semicolons: true });
  }
  if (!reader.isAny(routines) || !reader.finds('BEGIN', 'ATOMIC')) return false;
  reader.at += 2;
  while (!reader.takes('END')) if (!takesStatement(reader)) return false;
  return true;
}

const afterDo = new Set(['ALSO', 'INSTEAD']);

/** Goes past a statement and its semicolon. */
function takesStatement(reader: TokenReader): boolean {
  while (!reader.isOver && !reader.is(';')) reader.at++;
  return reader.takes(';');
}

function takesDefiner(reader: TokenReader): void {
  if (!reader.takes('DEFINER', '=')) return;
  reader.at++;
  if (reader.takes('@')) reader.at++;
  reader.takes('(', ')');
}

/** Goes to the first statement of the body. */
function takesMysqlHead(reader: TokenReader, isAltered: boolean): boolean {
  takesDefiner(reader);
  if (reader.takes('EVENT')) {
    const isScheduled = isAltered || reader.finds('ON', 'SCHEDULE');
    reader.at++;
    return isScheduled && reader.finds('DO') && reader.takes('DO');
  }
  if (isAltered) return false;
  if (reader.takes('TRIGGER')) {
    if (!reader.finds('FOR', 'EACH', 'ROW')) return false;
    reader.at += 3;
    if (reader.takesAny(triggerOrders)) reader.at++;
    return true;
  }
  reader.takes('AGGREGATE');
  const returns = reader.is('FUNCTION');
  if (!reader.takesAny(routines) || !reader.finds('(') || !reader.takesGroup()) return false;
  if (returns && !reader.takes('RETURNS')) return false;
  if (returns) reader.at++;
  return takesCharacteristics(reader);
}

const triggerOrders = new Set(['FOLLOWS', 'PRECEDES']);
const beforeValue = new Set(['CHARSET', 'SET', 'COLLATE', 'COMMENT']);
/** What can stand between the parameters of a routine, or the type of a function, and the body. */
const characteristics = new Set([
  ...['UNSIGNED', 'SIGNED', 'ZEROFILL', 'PRECISION', 'VARYING', 'BINARY', 'ASCII', 'UNICODE', 'CHARACTER'],
  ...['NOT', 'DETERMINISTIC', 'LANGUAGE', 'CONTAINS', 'NO', 'READS', 'MODIFIES', 'SQL', 'DATA'],
  ...['SECURITY', 'DEFINER', 'INVOKER'],
]);

function takesCharacteristics(reader: TokenReader): boolean {
  for (;;) {
    if (reader.takesAny(beforeValue)) reader.at++;
    else if (reader.is('(')) {
      if (!reader.takesGroup()) return false;
    } else if (!reader.takesAny(characteristics)) return true;
  }
}

/** The words that begin a block, with the word in front of its first statement. */
const blocks = new Map([
  ['IF', 'THEN'],
  ['CASE', 'WHEN'],
  ['WHILE', 'DO'],
  ['FOR', 'DO'],
  ['LOOP', ''],
  ['REPEAT', ''],
]);
const blockWords: ReadonlySet<string> = new Set(blocks.keys());

/** Goes past a block of MySQL or MariaDB. Returns false for another statement, and for a block without an end. */
function takesBlock(reader: TokenReader): boolean {
  /** The first words of the open blocks. */
  const open: string[] = [];
  for (;;) {
    if (reader.isValue() && reader.is(':', 1)) reader.at += 2;
    const inner = open.at(-1);
    const opened = takesOpening(reader);
    if (opened !== undefined) open.push(opened);
    else if (inner === undefined) return false;
    else if (takesEnd(reader, inner)) {
      open.pop();
      if (open.length === 0) return true;
      if (!reader.takes(';')) return false;
    } else if (!takesPart(reader, inner) && !takesHandler(reader) && !takesStatement(reader)) return false;
  }
}

/** Goes to the first statement of a block, or to the first WHEN of a CASE. Returns the block's first word. */
function takesOpening(reader: TokenReader): string | undefined {
  if (reader.takes('BEGIN')) {
    reader.takes('NOT', 'ATOMIC');
    return 'BEGIN';
  }
  if (!reader.isAny(blockWords)) return undefined;
  const word = reader.next?.text ?? '';
  const last = blocks.get(word) ?? '';
  reader.at++;
  if (last !== '' && !reader.finds(last)) return undefined;
  if (last !== '' && word !== 'CASE') reader.at++;
  return word;
}

/** Goes to the next statements of an IF or a CASE, or to the end of a REPEAT. */
function takesPart(reader: TokenReader, block: string): boolean {
  if (block === 'REPEAT') return reader.takes('UNTIL') && reader.finds('END', 'REPEAT');
  const branch = block === 'IF' ? 'ELSEIF' : 'WHEN';
  if (block !== 'IF' && block !== 'CASE') return false;
  return reader.takes('ELSE') || (reader.takes(branch) && reader.finds('THEN') && reader.takes('THEN'));
}

function takesEnd(reader: TokenReader, block: string): boolean {
  if (!(block === 'BEGIN' ? reader.takes('END') : reader.takes('END', block))) return false;
  if (reader.isValue() && !reader.isAny(blockWords)) reader.at++;
  return true;
}

/** Goes to the statement of a handler. */
function takesHandler(reader: TokenReader): boolean {
  if (!(reader.is('DECLARE') && reader.is('HANDLER', 2) && reader.is('FOR', 3))) return false;
  reader.at += 4;
  do {
    if (reader.takes('SQLSTATE')) reader.takes('VALUE');
    if (!reader.takes('NOT', 'FOUND')) reader.at++;
  } while (reader.takes(','));
  return true;
}
