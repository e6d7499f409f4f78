/** Creates the first account and its key, once per store, even if several replicas start at the same time. */

import { chmod, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { insertIfNew } from '@datahub/document-store';
import { hashApiKey } from '@datahub/service-kit/api-key';
import type { CreateId } from '@datahub/service-kit/id';
import { createDirectory } from '@datahub/service-kit/process/create-directory';
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
  /** True when a new key was added to an account that was there. */
  addedKey: boolean;
}

export async function bootstrap(store: CatalogStore, options: BootstrapOptions): Promise<Bootstrapped> {
  const { account, made } = await firstAccount(store, options);
  const context: MakeContext = { accountId: account.id, nowMs: options.nowMs, createId: options.createId };
  if (options.apiKey !== undefined) {
    const addedKey = await addGivenKey(store, options.apiKey, context);
    return { accountId: account.id, addedKey: addedKey && !made };
  }
  const hasKey = (await store.keys.count({ accountId: account.id })) > 0;
  if (hasKey || options.keyFile === undefined) return { accountId: account.id, addedKey: false };
  const { doc, secret } = makeKey({ name: 'first key', scopes: ['*'], limits: {}, expiresAt: null }, context);
  // The file comes first: a key that is only in the store is known to nobody.
  await keep(options.keyFile, secret);
  await store.keys.insert(doc);
  return { accountId: account.id, createdKey: secret, addedKey: false };
}

async function firstAccount(
  store: CatalogStore,
  options: BootstrapOptions,
): Promise<{ account: AccountDoc; made: boolean }> {
  const found = await store.accounts.getUnique('name', 'first');
  if (found !== null) return { account: found, made: false };
  const id = options.createId('acct', options.nowMs);
  const { nowMs } = options;
  const dates = { createdAt: nowMs, withheldLoggedAt: nowMs };
  const account: AccountDoc = { id, accountId: id, version: 1, name: 'first', ...dates };
  if (await insertIfNew(store.accounts, account)) return { account, made: true };
  // Another replica made it at the same time.
  return firstAccount(store, options);
}

async function addGivenKey(store: CatalogStore, apiKey: string, context: MakeContext): Promise<boolean> {
  if ((await store.keys.getUnique('hash', hashApiKey(apiKey))) !== null) return false;
  const { doc } = makeKey(
    { name: 'key from DATAHUB_API_KEY', scopes: ['*'], limits: {}, expiresAt: null, secret: apiKey },
    context,
  );
  return insertIfNew(store.keys, doc);
}

async function keep(path: string, secret: string): Promise<void> {
  createDirectory(dirname(path));
  await writeFile(path, `${secret}\n`, { mode: 0o600, flush: true });
  await chmod(path, 0o600);
}
