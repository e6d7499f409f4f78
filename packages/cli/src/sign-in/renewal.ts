/** Keeps the token of a sign-in valid. Several commands can run at once, and a refresh token works once. */

import { randomUUID } from 'node:crypto';
import { link, open, rename, rm, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from '../failure.ts';
import { askForTokens, type SignIn } from './server.ts';

/** How long before its end a token is renewed. */
const aheadMs = 60_000;
const lockWaitMs = 100;
/** A command that was killed leaves its lock. */
const lockStaleMs = 60_000;

interface Kept {
  path: string;
  url: string;
  read(): Promise<SignIn | undefined>;
  write(signIn: SignIn): Promise<unknown>;
}

/** Returns a function that resolves with the access token that is valid now. */
export function createRenewal(first: SignIn, kept: Kept): () => Promise<string> {
  let known = first;
  let renewing: Promise<void> | undefined;
  const isFresh = () => known.expiresAt - aheadMs > Date.now();
  const renew = async () => {
    await using _lock = await takeLock(`${kept.path}.lock`);
    // Another command may have renewed it meanwhile.
    known = (await kept.read()) ?? known;
    if (isFresh()) return;
    // The next token is lost if it cannot be stored, as on a full disk, and this one is then used up.
    await kept.write(known);
    const { refreshToken } = known;
    known = await askForTokens(new URL(kept.url).origin, {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
    });
    await kept.write(known);
  };
  return async () => {
    if (!isFresh()) {
      renewing ??= renew().finally(() => {
        renewing = undefined;
      });
      await renewing;
    }
    return known.accessToken;
  };
}

async function takeLock(path: string): Promise<AsyncDisposable> {
  const until = Date.now() + 2 * lockStaleMs;
  while (Date.now() < until) {
    try {
      const file = await open(path, 'wx', 0o600);
      await file.close();
      return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err;
    }
    if (await isStale(path)) await removeStale(path);
    else await sleep(lockWaitMs);
  }
  throw new CommandError(`Another command holds ${path} for too long.`);
}

/** Also if the clock was set back since. */
const isStale = (path: string): Promise<boolean> =>
  stat(path).then(
    ({ mtimeMs }) => Math.abs(Date.now() - mtimeMs) > lockStaleMs,
    () => false,
  );

async function removeStale(path: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
    // Another command may have removed it just before, and taken its own.
    if (!(await isStale(aside))) await link(aside, path);
  } catch (err) {
    // Who is first has the lock.
    if (!['ENOENT', 'EEXIST'].includes((err as NodeJS.ErrnoException).code ?? '')) throw err;
  } finally {
    await rm(aside, { force: true });
  }
}
