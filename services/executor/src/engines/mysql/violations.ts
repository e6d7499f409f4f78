/**
 * What an error of MySQL or MariaDB says to a program: the condition, and the names of what was violated. The servers
 * report names only in their messages, which are English because sessions set `lc_messages`.
 */

import type { SqlFault } from '@datahub/service-kit/call/error';
import { boundedNames } from '../shared/violation.ts';

type Condition = NonNullable<SqlFault['condition']>;

const numbers: [condition: Condition, numbers: number[]][] = [
  ['UNIQUE_VIOLATION', [1022, 1062, 1169, 1557, 1586, 1761, 1762]],
  ['FOREIGN_KEY_VIOLATION', [1216, 1217, 1451, 1452]],
  // 1364: an INSERT leaves out a column that has no default.
  ['NOT_NULL_VIOLATION', [1048, 1364]],
  ['CHECK_VIOLATION', [3819, 4025]],
];
const conditions = new Map(numbers.flatMap(([condition, of]) => of.map((number) => [number, condition])));

/** SIGNAL without a number of its own. */
const signalled = new Set([1643, 1644]);

/** True for an error of SIGNAL. With another SQLSTATE and a number, it looks like one of the server. */
export const isRaised = (number: number, state: string | undefined) =>
  state === '45000' || signalled.has(number);

/**
 * The parts of messages with names. A value can contain quotes, so each pattern is anchored at the end of the message or
 * has no value before the names.
 */
const naming: [numbers: number[], RegExp][] = [
  // MySQL names the table before the key, MariaDB does not.
  [[1062, 1586], /' for key '(?:(?<table>[^'.]+)\.)?(?<constraint>[^'.]+)'$/],
  [
    [1451, 1452],
    /^[^(]*\(`(?<schema>[^`]+)`\.`(?<table>[^`]+)`, CONSTRAINT `(?<constraint>[^`]+)` FOREIGN KEY \(/,
  ],
  [[1048], /^Column '(?<columnName>[^']+)' cannot be null$/],
  [[1364], /^Field '(?<columnName>[^']+)' doesn't have a default value$/],
  [[3819], /^Check constraint '(?<constraint>[^']+)' is violated\.$/],
  [[4025], /^CONSTRAINT `(?<constraint>[^`]+)` failed for `(?<schema>[^`]+)`\.`(?<table>[^`]+)`$/],
];

/** `message` is at most some thousand characters. */
export function violationOf(number: number, state: string | undefined, message: string): SqlFault {
  if (isRaised(number, state)) return { condition: 'RAISED' };
  const condition = conditions.get(number);
  if (condition === undefined) return {};
  const names = naming.find(([of]) => of.includes(number))?.[1].exec(message)?.groups ?? {};
  const { constraint, schema, table, columnName } = names;
  return { condition, ...boundedNames({ constraint, schema, table, columnName, dataType: undefined }) };
}
