/** Reads exports: a file, a directory of files, or the API of the product. */

import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { ScalarTag } from 'yaml';
import { ExactNumber, parseExact } from '../exact-numbers.ts';
import { CommandError } from '../failure.ts';
import { parseYaml } from '../files/yaml.ts';
import { NotUtf8, notUtf8, readUtf8 } from '../read-utf8.ts';
import type { Imported } from './imported.ts';

export interface ExportFile {
  /** As it is named in the report. */
  name: string;
  text: string;
}

const bytesMax = 64 * 1024 * 1024;
const timeoutMs = 60_000;

/**
 * The file, or the files below a directory that have one of the endings, in the order of their names. Where each file
 * stands for itself, `report` takes those that cannot be read, and the others are returned.
 */
export async function readExport(
  from: string,
  endings: readonly string[],
  report?: Pick<Imported, 'refuse'>,
): Promise<ExportFile[]> {
  const unreadable = (cause: NodeJS.ErrnoException): never => {
    throw new CommandError(`${from} cannot be read: ${cause.code}`, undefined, { cause });
  };
  const about = await stat(from).catch(unreadable);
  if (!about.isDirectory()) return [{ name: from, text: await readText(from) }];
  const entries = await readdir(from, { recursive: true, withFileTypes: true }).catch(unreadable);
  const names = entries
    .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.toLowerCase().endsWith(ending)))
    .map((entry) => relative(from, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
  if (names.length === 0) throw new CommandError(`${from} has no file that ends in ${endings.join(' or ')}.`);
  const files: ExportFile[] = [];
  for (const name of names.map((one) => join(from, one))) {
    try {
      files.push({ name, text: await readText(name) });
    } catch (err) {
      if (report === undefined || !(err instanceof NotUtf8)) throw err;
      report.refuse(name, notUtf8, { line: err.line, column: 1 });
    }
  }
  return files;
}

async function readText(file: string): Promise<string> {
  const text = await readUtf8(file);
  if (text.length > bytesMax) throw new CommandError(`${file} has more than ${bytesMax} bytes.`);
  return text.replace(/^\uFEFF/, '');
}

/** JSON or YAML, whose numbers keep all their digits. */
export function parseExport({ name, text }: ExportFile, tags?: readonly ScalarTag[]): unknown {
  const isYaml = /\.ya?ml$/i.test(name);
  try {
    return isYaml ? parseYaml(text, tags) : parseExact(text);
  } catch (cause) {
    const detail = `${name} is no ${isYaml ? 'YAML' : 'JSON'}: ${(cause as Error).message}`;
    throw new CommandError(detail, undefined, { cause });
  }
}

export const isAddress = (from: string): boolean => /^https?:\/\//.test(from);

export interface Api {
  get(path: string): Promise<Loose | Loose[]>;
  post(path: string, body: unknown): Promise<Loose>;
}

/** Following a redirect would send the key to another address. */
export function openApi(address: string, headers: Record<string, string>): Api {
  // Errors would show them.
  const { username, password } = URL.canParse(address) ? new URL(address) : { username: '', password: '' };
  if (username + password !== '')
    throw new CommandError('The address has a user or password. Set the key of the API instead.');
  const call = async (path: string, init: RequestInit): Promise<Loose> => {
    const url = new URL(path.replace(/^\//, ''), address.endsWith('/') ? address : `${address}/`);
    const response = await fetch(url, {
      ...init,
      headers: { accept: 'application/json', ...headers, ...(init.headers as Record<string, string>) },
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    }).catch((cause) => {
      throw new CommandError(`${url.origin} does not answer: ${(cause as Error).message}`, undefined, {
        cause,
      });
    });
    if (!response.ok)
      throw new CommandError(`${init.method} ${url.href} was answered with ${response.status}.`);
    return parseExport({ name: url.href, text: await response.text() }) as Loose;
  };
  return {
    get: (path) => call(path, { method: 'GET' }),
    post: (path, body) =>
      call(path, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
  };
}

/** The key of a product's API, which is no argument because other users of a machine can see arguments. */
export function keyFrom(env: Readonly<Record<string, string | undefined>>, name: string): string {
  const key = env[name];
  if (key === undefined || key === '') throw new CommandError(`Set ${name} to a key of the API.`);
  return key;
}

/** Exports of other products have no types here: each member is looked at before it is used. */
// biome-ignore lint/suspicious/noExplicitAny: see above.
export type Loose = Record<string, any>;

export const isRecord = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
