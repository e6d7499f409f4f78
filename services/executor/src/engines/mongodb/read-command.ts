/**
 * Reads a command in Extended JSON as `CompiledStatement.bind` of MongoDB writes it: canonical, with each constant alone in
 * its object. The parser of the library works in one turn, for a second at the largest commands, and reads an object with
 * `$regex` as nothing but a regular expression, whatever other operators it has.
 */

import { createLoopYield, turnForText } from '@datahub/service-kit/yield-to-loop';
import { BSON, type Document } from 'mongodb';
import { tooLargeError, unfitError } from './errors.ts';

/** MongoDB takes documents of 16 MiB, and commands of 16 KiB more. */
const commandBytesMax = 16 * 1_048_576 + 16_384;
/** The most bytes of a command that a character of its text becomes, such as those of `1,` in a list. */
const bytesOfCharacter = 8;

const {
  Binary,
  BSONError,
  BSONRegExp,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  UUID,
} = BSON;

type Read = (inner: never) => unknown;

const reads: Readonly<Record<string, Read>> = {
  $oid: (text: string) => new ObjectId(text),
  $uuid: (text: string) => new UUID(text),
  $numberInt: (text: string) => new Int32(text),
  $numberLong: (text: string) => Long.fromString(text),
  $numberDouble: (text: string) => new Double(Number(text)),
  $numberDecimal: (text: string) => Decimal128.fromString(text),
  $date: ({ $numberLong }: { $numberLong: string }) => new Date(Number($numberLong)),
  $binary: ({ base64, subType }: { base64: string; subType: string }) => {
    const bytes = Buffer.from(base64, 'base64');
    if (bytes.toString('base64') !== base64) throw new BSONError('The value is no base64.');
    return new Binary(bytes, Number.parseInt(subType, 16));
  },
  $timestamp: (parts: { t: number; i: number }) => new Timestamp(parts),
  $regularExpression: ({ pattern, options }: { pattern: string; options: string }) =>
    new BSONRegExp(pattern, options),
  $minKey: () => new MinKey(),
  $maxKey: () => new MaxKey(),
};

/** Throws SQL_REJECTED if BSON cannot encode a value, or for a command that MongoDB does not take because of its size. */
export async function readCommand(text: string): Promise<Document> {
  await turnForText(text.length);
  const command: Document = JSON.parse(text);
  try {
    await readConstants(command);
  } catch (err) {
    throw unfitError(err);
  }
  // The library writes longer commands wrongly, or fails.
  if (text.length * bytesOfCharacter <= commandBytesMax) return command;
  if (BSON.calculateObjectSize(command) > commandBytesMax) throw tooLargeError();
  return command;
}

/** Replaces constants by values of the library, in place. */
async function readConstants(command: Document): Promise<void> {
  const mayYield = createLoopYield();
  const left: Document[] = [command];
  for (let document = left.pop(); document !== undefined; document = left.pop()) {
    for (const key of Array.isArray(document) ? document.keys() : Object.keys(document)) {
      const value: unknown = document[key];
      const read = toValue(value);
      if (read !== value) replace(document, key, read);
      else if (typeof value === 'object' && value !== null) left.push(value);
      const turn = mayYield();
      if (turn !== undefined) await turn;
    }
  }
}

function toValue(value: unknown): unknown {
  if (typeof value === 'number') return isLong(value) ? Long.fromNumber(value) : value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const [name = '', ...more] = Object.keys(value);
  if (more.length > 0 || !Object.hasOwn(reads, name)) return value;
  return (reads[name] as Read)((value as Record<string, never>)[name] as never);
}

/** The library would write it as a double. */
const isLong = (value: number) =>
  Number.isInteger(value) && (value < -(2 ** 31) || value >= 2 ** 31) && Math.abs(value) < 2 ** 63;

/** Assigned, the member `__proto__` would be lost. */
function replace(document: Document, key: string | number, value: unknown): void {
  if (key !== '__proto__') document[key] = value;
  else Object.defineProperty(document, key, { value, enumerable: true, configurable: true, writable: true });
}
