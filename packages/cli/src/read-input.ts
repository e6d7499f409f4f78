/** Reads what a command is given on standard input or in arguments. */

import { parseExact } from './exact-numbers.ts';
import { CommandError } from './failure.ts';
import { decodeUtf8 } from './read-utf8.ts';

export async function readAll(stdin: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
  return decodeUtf8(Buffer.concat(chunks), 'standard input').replace(/^\uFEFF/, '');
}

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
    throw new CommandError(`The value of ${name} is not JSON: ${text}`, undefined, { cause });
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
