/** Creates the first account and its key, once per store, even if several replicas start at the same time. */

import { chmod, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { insertIfNew } from '@datahub/document-store';
import { hashApiKey } from '@datahub/service-kit/api-key';
import type { CreateId } from '@datahub/service-kit/id';
import { createDirectory } from '@datahub/service-kit/process/create-directory';
import { overtaken, untilWritten } from '../catalog.ts';
import type { AccountDoc } from '../documents.ts';
import type { MakeContext } from '../hub.ts';
import { makeKey } from '../key.ts';
import type { CatalogStore } from '../store.ts';

export interface BootstrapOptions {
  /** The key that the operator chose. */
  apiKey?: string | undefined;
  /** The file for a generated key, mode 0600. Undefined: no key is generated. */
  keyFile?: string | undefined;
  nowMs: number;
  createId: CreateId;
}

export interface Bootstrapped {
  accountId: string;
  /** A key that was created by this start. It is shown once. */
  createdKey?: string;
  /** What happened to the given key: 'added' to an account that was there, or 'ended' before, and so not added again. */
  givenKey?: 'added' | 'ended';
}

/** Of those that were given, so many are remembered. */
const givenMax = 100;

export async function bootstrap(store: CatalogStore, options: BootstrapOptions): Promise<Bootstrapped> {
  const { account, made } = await firstAccount(store, options);
  const context: MakeContext = { accountId: account.id, nowMs: options.nowMs, createId: options.createId };
  if (options.apiKey !== undefined) {
    const given = await addGivenKey(store, { account, apiKey: options.apiKey }, context);
    return {
      accountId: account.id,
      ...(given === undefined || (given === 'added' && made) ? {} : { givenKey: given }),
    };
  }
  const hasKey = (await store.keys.count({ accountId: account.id })) > 0;
  if (hasKey || options.keyFile === undefined) return { accountId: account.id };
  const { doc, secret } = makeKey({ name: 'first key', scopes: ['*'], limits: {}, expiresAt: null }, context);
  // The file comes first: a key that is only in the store is known to nobody.
  await keep(options.keyFile, secret);
  await store.keys.insert(doc);
  return { accountId: account.id, createdKey: secret };
}

async function firstAccount(
  store: CatalogStore,
  options: BootstrapOptions,
): Promise<{ account: AccountDoc; made: boolean }> {
  const found = await store.accounts.getUnique('name', 'first');
  if (found !== null) return { account: found, made: false };
  const id = options.createId('acct', options.nowMs);
  const { nowMs } = options;
  const dates = { createdAt: nowMs, withheldLoggedAt: nowMs, secretsRemovedAt: nowMs };
  const account: AccountDoc = { id, accountId: id, version: 1, name: 'first', ...dates };
  if (await insertIfNew(store.accounts, account)) return { account, made: true };
  // Another replica made it at the same time.
  return firstAccount(store, options);
}

/** A key that was revoked, or expired, is not there again after the next start. */
async function addGivenKey(
  store: CatalogStore,
  { account, apiKey }: { account: AccountDoc; apiKey: string },
  context: MakeContext,
): Promise<'added' | 'ended' | undefined> {
  const hash = hashApiKey(apiKey);
  const wasGiven = account.givenKeys?.includes(hash) === true;
  if ((await store.keys.getUnique('hash', hash)) !== null) {
    // A hub starts on a full disk, too.
    if (!wasGiven) await rememberGiven(store, { account, hash }).catch(() => {});
    return undefined;
  }
  if (wasGiven) return 'ended';
  const { doc } = makeKey(
    { name: 'key from DATAHUB_API_KEY', scopes: ['*'], limits: {}, expiresAt: null, secret: apiKey },
    context,
  );
  const isNew = await insertIfNew(store.keys, doc);
  await rememberGiven(store, { account, hash });
  return isNew ? 'added' : undefined;
}

const rememberGiven = (
  store: CatalogStore,
  { account, hash }: { account: AccountDoc; hash: string },
): Promise<void> =>
  untilWritten(async () => {
    const now = (await store.accounts.get(account.id, account.id)) ?? account;
    if (now.givenKeys?.includes(hash)) return;
    const givenKeys = [...(now.givenKeys ?? []), hash].slice(-givenMax);
    if (!(await store.accounts.replace({ ...now, givenKeys, version: now.version + 1 }))) return overtaken;
  });

async function keep(path: string, secret: string): Promise<void> {
  createDirectory(dirname(path));
  await writeFile(path, `${secret}\n`, { mode: 0o600, flush: true });
  await chmod(path, 0o600);
}
