/** Reads what a command is given on standard input or in arguments. */

import { isUtf8 } from 'node:buffer';
import { parseExact } from './exact-numbers.ts';
import { CommandError } from './failure.ts';
import { decodeUtf8 } from './read-utf8.ts';

export async function readAll(stdin: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
  return decodeUtf8(Buffer.concat(chunks), 'standard input').replace(/^\uFEFF/, '');
}

/**
 * Each line as it arrives. Only a line feed ends one: a text in JSON may have U+2028 and U+2029, which end lines for
 * `node:readline`. A line that is not UTF-8, or has more than `bytesMax`, is undefined.
 */
export async function* readLines(
  stdin: NodeJS.ReadableStream,
  bytesMax: number,
): AsyncGenerator<string | undefined> {
  let parts: Buffer[] = [];
  let bytes = 0;
  const take = (part: Buffer) => {
    bytes += part.length;
    if (bytes > bytesMax) parts = [];
    else parts.push(part);
  };
  const end = () => {
    const line = bytes > bytesMax ? undefined : Buffer.concat(parts);
    [parts, bytes] = [[], 0];
    return line && isUtf8(line) ? line.toString() : undefined;
  };
  for await (const chunk of stdin) {
    let rest = Buffer.from(chunk);
    for (let at = rest.indexOf(lineFeed); at !== -1; at = rest.indexOf(lineFeed)) {
      take(rest.subarray(0, at));
      yield end();
      rest = rest.subarray(at + 1);
    }
    take(rest);
  }
  if (bytes > 0) yield end();
}

const lineFeed = 0x0a;

/** `name=text` is a text, `name:=json` any JSON; a name that is given again makes a list. */
export function readValues(words: readonly string[]): Record<string, unknown> {
  const values = new Map<string, unknown[]>();
  for (const word of words) {
    const [, name = '', sign, text = ''] = /^([^=:]+)(:?=)(.*)$/s.exec(word) ?? [];
    if (sign === undefined) throw new CommandError(`${word} must have the form NAME=TEXT, or NAME:=JSON.`);
    values.set(name, [...(values.get(name) ?? []), sign === '=' ? text : parseValue(name, text)]);
  }
  return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 1 ? all[0] : all]));
}

function parseValue(name: string, text: string): unknown {
  try {
    return parseExact(text);
  } catch (cause) {
    // Not the value, which can be a secret that a log must not have.
    throw new CommandError(`The value of ${name} is not JSON. For a text, write ${name}=…`, undefined, {
      cause,
    });
  }
}

/** The JSON object that an option is given. */
export function parseObject(option: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseExact(text);
  } catch (cause) {
    throw new CommandError(`${option} is not JSON.`, undefined, { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new CommandError(`${option} must be a JSON object.`);
}
