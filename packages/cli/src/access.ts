/** Which hub a command talks to, with which key: from the environment, else from the profile that `login` stored. */

import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CommandError, exitCodes } from './failure.ts';
import { createRenewal } from './sign-in/renewal.ts';
import type { SignIn } from './sign-in/server.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Access {
  url: string;
  key: string;
  /** Where the key is: a file, or the setting DATAHUB_API_KEY. */
  keyPlace: string;
  /** Resolves with the key that is valid now, if the key is the token of a sign-in. */
  renew?: () => Promise<string>;
}

export const keyOf = async ({ key, renew }: Access): Promise<string> => (await renew?.()) ?? key;

/** What `login` stores: a key, or the tokens of a sign-in. */
export type Profile = { url: string } & ({ key: string } | { signIn: SignIn });

/** What a place knows; each part may be missing. */
export type Known = Partial<Access> & Pick<Access, 'url'>;

export const defaultUrl = 'http://127.0.0.1:8080';

export function profilePath(env: Environment): string {
  const config = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  return join(config, 'datahub', 'profile.json');
}

export async function writeProfile(env: Environment, profile: Profile): Promise<string> {
  const path = profilePath(env);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  try {
    await writeFile(draft, `${JSON.stringify(profile, null, 2)}\n`, { mode: 0o600 });
    await chmod(draft, 0o600);
    await rename(draft, path);
  } catch (err) {
    await rm(draft, { force: true });
    throw err;
  }
  return path;
}

export async function readProfile(env: Environment): Promise<Profile | undefined> {
  const path = profilePath(env);
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const { mode } = await stat(path);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw new CommandError(`Others can read ${path}, which contains a key. Run: chmod 600 '${path}'`);
  try {
    const { url, key, signIn } = JSON.parse(text) as Record<string, unknown>;
    if (typeof url === 'string' && typeof key === 'string') return { url, key };
    if (typeof url === 'string' && isSignIn(signIn)) return { url, signIn };
  } catch {
    // The error below says what to do.
  }
  throw new CommandError(`${path} is no profile. Write it again: datahub login`);
}

const isSignIn = (value: unknown): value is SignIn => {
  const { accessToken, refreshToken, expiresAt } = Object(value) as Record<string, unknown>;
  return typeof accessToken === 'string' && typeof refreshToken === 'string' && typeof expiresAt === 'number';
};

function accessOf(env: Environment, profile: Profile): Access {
  const [path, { url }] = [profilePath(env), profile];
  if ('key' in profile) return { url, key: profile.key, keyPlace: path };
  const renew = createRenewal(profile.signIn, {
    ...{ path, url },
    read: async () => {
      const now = await readProfile(env);
      return now !== undefined && 'signIn' in now && now.url === url ? now.signIn : undefined;
    },
    write: (signIn) => writeProfile(env, { url, signIn }),
  });
  return { url, key: profile.signIn.accessToken, keyPlace: path, renew };
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
    if (isMeant) return accessOf(env, profile);
  }
  const found = await fallback(env);
  return key ? { ...found, key, keyPlace: 'DATAHUB_API_KEY' } : found;
}

const isSameHub = (one: string, other: string): boolean => {
  const [a, b] = [one, other].map((url) => (URL.canParse(url) ? new URL(url).href : url));
  return a === b;
};

export function requireKey({ url, key, keyPlace, renew }: Known): Access {
  if (key !== undefined && keyPlace !== undefined)
    return { url, key, keyPlace, ...(renew === undefined ? {} : { renew }) };
  const where = keyPlace === undefined ? '' : ` in ${keyPlace}`;
  throw new CommandError(
    `There is no key${where}. Set DATAHUB_API_KEY, or sign in: datahub login --url ${url}`,
    exitCodes.rejectedKey,
  );
}
