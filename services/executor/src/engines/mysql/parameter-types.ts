/** What MySQL makes of the types of a statement's parameters. */

import type { FieldFault } from '@datahub/contract/validation-error';
import { contextInvalid } from '@datahub/statement/values';
import type { Param, Statement } from '../../ports/engine.ts';

type Untyped = Statement['untyped'];

/** In the definition of a parameter, the bytes from its type to its end. */
const typeBytes = 6;
const textType = 0xfd;
const numbers = new Set([0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0d, 0x10, 0xf6]);
const times = new Set([0x07, 0x0a, 0x0b, 0x0c]);
const number = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;
const beginOfTime = /^\s*-?\d/;

/**
 * The types that MySQL gives to texts beside other values, such as that of `id` in `COALESCE(:name, id)`. It would read
 * "abc" as the number 0 there, with no more than a warning. Runs with the same key have such texts in the same places.
 */
export class ExpectedTypes {
  #unread: Untyped;
  readonly #types: number[] = [];

  constructor(untyped: Untyped) {
    this.#unread = untyped;
  }

  /** Reads the definition of a parameter, which ends there. MariaDB has no types in them, and no such texts. */
  read(index: number, source: Buffer, end: number): void {
    if (this.#unread?.[this.#types.length]?.index !== index) return;
    this.#types.push(source[end - typeBytes] as number);
    // The values are no longer needed.
    if (this.#types.length === this.#unread.length) this.#unread = undefined;
  }

  /** Throws CONTEXT_INVALID for texts that have no value of the type. */
  require(params: readonly Param[], untyped: Untyped = []): void {
    const faults = untyped.flatMap(({ index, name }, i): FieldFault[] => {
      const must = mustBe(params[index] as Param, this.#types[i] ?? textType);
      return must === undefined ? [] : [{ path: ['context', name], detail: detailOf(name, must) }];
    });
    if (faults.length > 0) throw contextInvalid(faults);
  }
}

function mustBe(value: Param, type: number): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (numbers.has(type) && !number.test(value)) return 'a number';
  return times.has(type) && !beginOfTime.test(value) ? 'a date or a time' : undefined;
}

const detailOf = (name: string, must: string) =>
  `must be ${must} here, because MySQL takes it for a value like the one beside it. If the result may be a text, write CAST(:${name} AS CHAR)`;

/**
 * Identifies the prepared statement on a connection. If the statement does not imply the type of a parameter, MySQL
 * uses the type of its first value: it then converts a later text to the number 0, after a double the digits of later
 * integers and decimals are lost, and after a decimal later integers are decimals with 30 places. So texts, doubles,
 * decimals and other values need separate statements, or what a caller sends would change what others read.
 */
export function keyOf({ key, params }: Pick<Statement, 'key' | 'params'>, isMariadb: boolean): string {
  if (isMariadb || params.every((param) => formOf(param) === 'o')) return key;
  return `${key} ${params.map(formOf).join('')}`;
}

function formOf(param: Param): string {
  if (typeof param === 'string') return 't';
  if (typeof param === 'object' && param !== null) return 'e';
  return typeof param === 'number' && !isInteger(param) ? 'd' : 'o';
}

export const isInteger = (param: number | bigint) => typeof param === 'bigint' || Number.isSafeInteger(param);
