/** The operator's commands for keys and accounts. They need access to the store, and no API key. */

import { createQuota } from '@datahub/document-store/quota';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../catalog.ts';
import { createLeftovers } from '../maintenance/leftovers.ts';
import { createKeyCalls } from './keys.ts';

export interface OperatorRequest {
  action: 'create' | 'list' | 'rotate' | 'revoke' | 'describe';
  /** To be rotated or revoked. */
  keyId: string;
  /** Of a new key. */
  name: string;
  scopes: string[];
  /** The new key opens an account of its own; else it is the first account's. */
  newAccount: boolean;
  /** The SHA-256, in hexadecimal, of the key to describe. */
  keySha256?: string;
}

/** What `describe` returns. */
export interface KeyDescription {
  accountId: string;
  keyId: string;
  name: string;
  scopes: string[];
  expiresAt: Date | null;
}

export type OperatorCatalog = Pick<Catalog, 'store' | 'createId' | 'nowMs' | 'namespace'>;

const timeoutMs = 10_000;

/** What came in by the socket, of the shape above. */
export function readOperatorRequest(asked: unknown): OperatorRequest {
  const {
    action,
    keyId = '',
    name = '',
    scopes = [],
    newAccount = false,
    keySha256 = '',
  } = asked as OperatorRequest;
  return {
    action,
    keyId: String(keyId),
    name: String(name),
    scopes: scopes.map(String),
    newAccount,
    keySha256: String(keySha256),
  };
}

/** Answers as the public API does, in the audit as the key `operator`. Rejects with HubError. */
export async function operate(parts: OperatorCatalog, asked: OperatorRequest): Promise<unknown> {
  if (asked.action === 'describe') return describeKey(parts, asked.keySha256 ?? '');
  // Commands for keys need neither the sealer nor the change feed, and work for an account over its quota. If the hub does
  // not run, its next start does what is left to do.
  const leftovers = createLeftovers(() => {});
  const catalog = { leftovers, ...parts, quota: createQuota(0) } as Catalog;
  const calls = createKeyCalls(catalog);
  const { accountId, made } = await accountFor(parts, asked);
  const principal = { accountId, keyId: 'operator', scopes: ['*'], limits: undefined };
  const ctx = createCallContext({ timeoutMs, principal });
  const { action, keyId, name, scopes } = asked;
  if (action === 'create') {
    const request = { name, scopes, limits: undefined, expiresAt: undefined };
    const { key, secret } = await calls.createKey(request, ctx).catch(async (err) => {
      // An account that was made for this key is of no use without it.
      if (made) await parts.store.accounts.delete(accountId, accountId).catch(() => {});
      throw err;
    });
    return { accountId, keyId: key?.keyId, key: secret, name: key?.name, scopes: key?.scopes };
  }
  if (action === 'rotate') {
    const { key, secret, previousExpiresAt } = await calls.rotateKey({ keyId }, ctx);
    return { keyId: key?.keyId, key: secret, previousExpiresAt };
  }
  if (action === 'revoke') return calls.revokeKey({ keyId }, ctx);
  const { keys, total } = await calls.listKeys({ page: undefined }, ctx);
  if (total === keys.length) return keys;
  const detail = `The account has ${total} keys, and at most ${keys.length} are listed here. Start the hub, and list them with one of its keys.`;
  throw new HubError('TOO_LARGE', detail);
}

async function describeKey({ store }: OperatorCatalog, keySha256: string): Promise<KeyDescription> {
  const key = await store.keys.getUnique('hash', keySha256);
  if (key === null) throw new HubError('NOT_FOUND', 'The store does not contain this key.');
  const expiresAt = key.expiresAt === null ? null : new Date(key.expiresAt);
  return { accountId: key.accountId, keyId: key.id, name: key.name, scopes: key.scopes, expiresAt };
}

/** The first account, or one that is made now. */
async function accountFor(
  { store, createId, nowMs }: OperatorCatalog,
  asked: OperatorRequest,
): Promise<{ accountId: string; made: boolean }> {
  if (!asked.newAccount) {
    const first = await store.accounts.getUnique('name', 'first');
    if (first !== null) return { accountId: first.id, made: false };
  }
  if (asked.action !== 'create') throw new HubError('NOT_FOUND', 'There is no account yet.');
  const id = createId('acct', nowMs());
  const name = asked.newAccount ? id : 'first';
  await store.accounts.insert({ id, accountId: id, version: 1, name, createdAt: nowMs() });
  return { accountId: id, made: true };
}
