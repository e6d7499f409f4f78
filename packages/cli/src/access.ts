/** Which hub a command talks to, with which key: from the environment, else from the profile that `login` stored. */

import { chmod, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CommandError, exitCodes } from './failure.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Access {
  url: string;
  key: string;
  /** Where the key is: a file, or the setting DATAHUB_API_KEY. */
  keyPlace: string;
}

/** What a place knows; each part may be missing. */
export type Known = Partial<Access> & Pick<Access, 'url'>;

export const defaultUrl = 'http://127.0.0.1:8080';

export function profilePath(env: Environment): string {
  const config = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  return join(config, 'datahub', 'profile.json');
}

export async function writeProfile(env: Environment, profile: { url: string; key: string }): Promise<string> {
  const path = profilePath(env);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(profile, null, 2)}\n`, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, path);
  return path;
}

async function readProfile(env: Environment): Promise<Access | undefined> {
  const path = profilePath(env);
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const { mode } = await stat(path);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw new CommandError(`Others can read ${path}, which contains a key. Run: chmod 600 '${path}'`);
  try {
    const { url, key } = JSON.parse(text) as Record<string, unknown>;
    if (typeof url === 'string' && typeof key === 'string') return { url, key, keyPlace: path };
  } catch {
    // The error below says what to do.
  }
  throw new CommandError(`${path} is no profile. Write it again: datahub login`);
}

/**
 * A key is sent only to the hub that it belongs to: DATAHUB_API_KEY to DATAHUB_URL, that of the profile to the URL of
 * the profile. `fallback` finds a hub in another place, such as the data directory of a hub on this machine.
 */
export async function findAccess(
  env: Environment,
  fallback: (env: Environment) => Promise<Known> = async ({ DATAHUB_URL }) => ({
    url: DATAHUB_URL || defaultUrl,
  }),
): Promise<Known> {
  const key = env.DATAHUB_API_KEY?.trim();
  if (!key) {
    const profile = await readProfile(env);
    const isMeant = profile !== undefined && (!env.DATAHUB_URL || isSameHub(env.DATAHUB_URL, profile.url));
    if (isMeant) return profile;
  }
  const found = await fallback(env);
  return key ? { ...found, key, keyPlace: 'DATAHUB_API_KEY' } : found;
}

const isSameHub = (one: string, other: string): boolean => {
  const [a, b] = [one, other].map((url) => (URL.canParse(url) ? new URL(url).href : url));
  return a === b;
};

export function requireKey({ url, key, keyPlace }: Known): Access {
  if (key !== undefined && keyPlace !== undefined) return { url, key, keyPlace };
  const where = keyPlace === undefined ? '' : ` in ${keyPlace}`;
  throw new CommandError(
    `There is no key${where}. Set DATAHUB_API_KEY, or store a key: datahub login --url ${url}`,
    exitCodes.rejectedKey,
  );
}
