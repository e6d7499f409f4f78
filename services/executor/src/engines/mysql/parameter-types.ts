/** The types that MySQL gives to the parameters of a statement, and how it is kept from misreading their values. */

import type { FieldFault } from '@datahub/contract/validation-error';
import type { UntypedValue } from '@datahub/statement/sql/untyped';
import { contextInvalid } from '@datahub/statement/values';
import type { Param, Statement } from '../../ports/engine.ts';
import {
  type Expected,
  isInteger,
  markBeside,
  markOf,
  markOfMariadb,
  number,
  numbers,
  times,
  typing,
} from './parameter-marks.ts';

type Untyped = Statement['untyped'];

/** In the definition of a parameter, the bytes from its character set, and from its type, to its end. */
const [charsetBytes, typeBytes] = [12, 6];
const binaryCharset = 0x3f;

// biome-ignore format: one line.
const expectations: readonly Expected[] = ['text', 'integer', 'year', 'decimal', 'double', 'date', 'time', 'json', 'binary'];

const types: readonly (readonly [Expected, number[]])[] = [
  ['integer', [0x01, 0x02, 0x03, 0x08, 0x09, 0x10]],
  ['year', [0x0d]],
  ['decimal', [0x00, 0xf6]],
  ['double', [0x04, 0x05]],
  ['date', [0x07, 0x0a, 0x0c]],
  ['time', [0x0b]],
  ['json', [0xf5]],
];
const expectedByType = new Map(types.flatMap(([expected, codes]) => codes.map((code) => [code, expected])));
const stringTypes = new Set([0x0f, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe]);
const beginOfTime = /^\s*-?\d/;

/**
 * The types that MySQL gives to parameters, by what is beside them or by the function that they are for. It would read
 * "abc" as the number 0 in `COALESCE(:name, id)`, "10:11" as a date in `HOUR(:time)`, and a text beside NULL as bytes, all
 * with no more than a warning. Beside a DECIMAL, each number would get 30 places.
 */
export class ExpectedTypes {
  /** By parameter, the index in `expectations`. */
  #kinds = new Uint8Array(0);

  /** MariaDB has no types in the definitions of parameters. */
  begin(count: number, isMariadb: boolean): void {
    this.#kinds = new Uint8Array(isMariadb ? 0 : count);
  }

  /** Reads the definition of a parameter, which ends there. */
  read(index: number, source: Buffer, end: number): void {
    if (index >= this.#kinds.length) return;
    const type = source[end - typeBytes] as number;
    const isBinary = stringTypes.has(type) && source.readUInt16LE(end - charsetBytes) === binaryCharset;
    const expected = expectedByType.get(type) ?? (isBinary ? 'binary' : 'text');
    this.#kinds[index] = expectations.indexOf(expected);
  }

  #of(index: number): Expected {
    return expectations[this.#kinds[index] ?? 0] as Expected;
  }

  /** Throws CONTEXT_INVALID for texts beside other values that have no value of their type. */
  require(untyped: Untyped = []): void {
    const faults = untyped.flatMap((value): FieldFault[] => {
      const must = value.isMerged ? mustBe(value, this.#of(value.index)) : undefined;
      return must === undefined
        ? []
        : [{ path: ['context', value.name], detail: detailOf(value.name, must) }];
    });
    if (faults.length > 0) throw contextInvalid(faults);
  }

  /** What must stand for a parameter, because MySQL would read its value as another one. By index. */
  marks(statement: Statement): Map<number, string> {
    const isWrite = statement.kind !== 'read';
    const placeOf = ({ index, role }: Found) => ({ expected: this.#of(index), role, isWrite });
    let areTyping = false;
    const found = marksOf(statement, (param, one) => {
      const mark = markOf(param, placeOf(one), one.untyped);
      areTyping ||= mark !== undefined && typing.test(one.role);
      return mark;
    });
    if (!areTyping) return found;
    return marksOf(statement, (param, one) => found.get(one.index) ?? markBeside(param, placeOf(one)));
  }
}

interface Found {
  index: number;
  role: string;
  untyped: UntypedValue | undefined;
}

function marksOf(
  { params, untyped = [], roles }: Statement,
  markFor: (param: Param, found: Found) => string | undefined,
): Map<number, string> {
  const found = new Map<number, string>();
  const texts = new Map(untyped.map((value) => [value.index, value]));
  const letters = roles?.() ?? '';
  for (const [index, param] of params.entries()) {
    const mark = markFor(param, { index, role: letters[index] ?? 'o', untyped: texts.get(index) });
    if (mark !== undefined) found.set(index, mark);
  }
  return found;
}

/** MariaDB has no types of parameters to ask for. */
export const mariadbMarks = (statement: Statement): Map<number, string> =>
  marksOf(statement, (param, { role }) => markOfMariadb(param, role));

function mustBe({ value, isJson }: UntypedValue, expected: Expected): string | undefined {
  if (expected === 'json' && !isJson) return 'a value of the type json';
  if (typeof value !== 'string') return undefined;
  if (numbers.has(expected) && !number.test(value)) return 'a number';
  return times.has(expected) && !beginOfTime.test(value) ? 'a date or a time' : undefined;
}

const detailOf = (name: string, must: string) =>
  `must be ${must} here, because MySQL takes it for a value like the one beside it. If the result may be a text, write CAST(:${name} AS CHAR)`;

/**
 * Identifies the prepared statement on a connection. If the statement does not imply the type of a parameter, MySQL
 * uses the type of its first value: it then converts a later text to the number 0, after a double the digits of later
 * integers and decimals are lost, and after a decimal later integers are decimals with 30 places. MariaDB keeps the places
 * of a decimal for `-:name`. So texts, doubles, decimals and other values need separate statements, or what a caller sends
 * would change what others read.
 */
export function keyOf({ key, params }: Pick<Statement, 'key' | 'params'>): string {
  if (params.every((param) => formOf(param) === 'o')) return key;
  return `${key} ${params.map(formOf).join('')}`;
}

function formOf(param: Param): string {
  if (typeof param === 'string') return 't';
  if (typeof param === 'object' && param !== null) return 'e';
  return typeof param === 'number' && !isInteger(param) ? 'd' : 'o';
}
