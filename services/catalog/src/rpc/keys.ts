/** The RPCs that authenticate keys and manage the keys of an account. */

import type { KeyLimitValues } from '@datahub/contract/key-limits';
import { rotationOverlapSeconds } from '@datahub/contract/limits';
import type { FieldPath } from '@datahub/contract/validation-error';
import type { CompanionWrite } from '@datahub/document-store';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { fieldError, HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import { type Catalog, loadHub, loadQuery, makeContext, notFound } from '../catalog.ts';
import { createChecker } from '../check.ts';
import type { KeyDoc } from '../documents.ts';
import { type MadeKey, makeKey } from '../key.ts';
import {
  budgetsOf,
  inheritBudgets,
  type KeyReach,
  requireNoMore,
  requireNoStronger,
} from '../key-delegation.ts';
import { auditEntry } from './audit.ts';
import { listPage } from './pagination.ts';
import { fromLimits, toKey, toPrincipal } from './to-proto.ts';

type KeyCalls = Pick<
  Calls<typeof CatalogServiceService>,
  'authenticate' | 'resolveKey' | 'createKey' | 'listKeys' | 'rotateKey' | 'revokeKey'
>;

const overlapDefaultMs = 3_600_000;
const endAttemptsMax = 50;
/** The resolution of `lastUsedAt`, so that not every use writes. */
const lastUsedStepMs = 60_000;

export function createKeyCalls(catalog: Catalog): KeyCalls {
  const { store } = catalog;
  return {
    authenticate: async ({ keySha256 }) => {
      const hash = Buffer.from(keySha256).toString('hex');
      const key = hash.length === 64 ? await store.keys.getUnique('hash', hash) : null;
      const nowMs = catalog.nowMs();
      requireValid(key, nowMs);
      noteUse(catalog, key, nowMs);
      return {
        principal: toPrincipal(key),
        expiresAt: key.expiresAt === null ? undefined : new Date(key.expiresAt),
      };
    },

    resolveKey: async ({ keyId }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const key = await store.keys.get(accountId, keyId);
      requireValid(key, catalog.nowMs());
      return { principal: toPrincipal(key) };
    },

    createKey: async ({ name, scopes, limits, expiresAt }, ctx) => {
      const context = makeContext(catalog, ctx);
      const narrowed = fromLimits(limits);
      const made = makeKey(
        { name, scopes, limits: narrowed, expiresAt: expiresAt?.getTime() ?? null },
        context,
      );
      const maker = await store.keys.get(context.accountId, context.principal.keyId);
      requireNoMore(reachOf(context.principal, maker), made.doc);
      await requireKnownIds(catalog, context.principal, narrowed);
      await catalog.quota.requireRoom(store.keys, context.accountId, 'keys');
      const doc = inheritBudgets(maker, made.doc);
      await store.keys.insert(doc, auditEntry(catalog, ctx, { rpc: 'createKey', resourceId: doc.id }));
      return toCreated({ ...made, doc });
    },

    listKeys: async ({ page }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const { docs, total } = await listPage(store.keys, { accountId }, page);
      return { keys: docs.map(toKey), total };
    },

    rotateKey: async ({ keyId, overlapSeconds }, ctx) => {
      const context = makeContext(catalog, ctx);
      const overlapMs = overlapSeconds === undefined ? overlapDefaultMs : overlapSeconds * 1000;
      if (overlapMs > rotationOverlapSeconds.max * 1_000) {
        const detail = `must be at most ${rotationOverlapSeconds.max}`;
        throw fieldError([{ path: ['overlapSeconds'], detail }]);
      }
      const old = await loadKey(catalog, context.accountId, keyId);
      const caller = await store.keys.get(context.accountId, context.principal.keyId);
      requireNoMore(reachOf(context.principal, caller), old);
      if (old.expiresAt !== null && old.expiresAt <= context.nowMs) {
        throw new HubError('CONFLICT', 'This key has expired and cannot be rotated. Create a new one.');
      }
      const { name, scopes, limits, expiresAt } = old;
      const made = makeKey({ name, scopes, limits, expiresAt }, context);
      await catalog.quota.requireRoom(store.keys, context.accountId, 'keys');
      // Both keys share one budget while the old one is valid.
      await store.keys.insert({ ...made.doc, budgets: budgetsOf(old) });
      const endsAt = Math.min(context.nowMs + overlapMs, old.expiresAt ?? Number.POSITIVE_INFINITY);
      const entry = auditEntry(catalog, ctx, { rpc: 'rotateKey', resourceId: keyId });
      await endKey(catalog, { key: old, expiresAt: endsAt, entry }).catch((err) =>
        takeBack(catalog, made.doc, err),
      );
      return { ...toCreated(made), previousExpiresAt: new Date(endsAt) };
    },

    revokeKey: async ({ keyId }, ctx) => {
      const principal = requirePrincipal(ctx);
      const key = await loadKey(catalog, principal.accountId, keyId);
      const caller = await store.keys.get(principal.accountId, principal.keyId);
      requireNoStronger(reachOf(principal, caller), key);
      const companion = auditEntry(catalog, ctx, { rpc: 'revokeKey', resourceId: keyId });
      if (!(await store.keys.delete(principal.accountId, keyId, { companion }))) throw notFound('key');
      return {};
    },
  };
}

function requireValid(key: KeyDoc | null, nowMs: number): asserts key is KeyDoc {
  if (key === null) throw new HubError('KEY_INVALID', 'This key is unknown or was revoked.');
  if (key.expiresAt === null || key.expiresAt > nowMs) return;
  throw new HubError('KEY_EXPIRED', 'This key has expired.');
}

function toCreated({ doc, secret }: MadeKey) {
  return { key: toKey(doc), secret };
}

async function loadKey({ store }: Catalog, accountId: string, keyId: string): Promise<KeyDoc> {
  const key = await store.keys.get(accountId, keyId);
  if (key === null) throw notFound('key');
  return key;
}

interface Ending {
  key: KeyDoc;
  expiresAt: number;
  entry: CompanionWrite;
}

/** Retries, because concurrent uses of the key change its document. */
async function endKey(catalog: Catalog, { key, expiresAt, entry }: Ending): Promise<void> {
  for (let attempt = 0; attempt < endAttemptsMax; attempt++) {
    const current = await loadKey(catalog, key.accountId, key.id);
    const ended = { ...current, expiresAt, version: current.version + 1 };
    if (await catalog.store.keys.replace(ended, entry)) return;
  }
  throw new HubError('UNAVAILABLE', 'Too many calls change this key at the same time. Try again.', {
    retryable: true,
  });
}

/** Deletes the new key, which no caller has seen. The old key stays valid. */
async function takeBack({ store }: Catalog, made: KeyDoc, err: unknown): Promise<never> {
  if (err instanceof HubError && err.code === 'OUTCOME_UNKNOWN') throw err;
  await store.keys.delete(made.accountId, made.id).catch((failed) => {
    throw outcomeUnknown(failed);
  });
  throw err;
}

/**
 * The scopes, limits and expiry of the caller's key. The operator has no key, so keys of the operator need not expire.
 */
function reachOf({ scopes, limits }: Principal, own: KeyDoc | null): KeyReach {
  return { scopes, limits: fromLimits(limits), expiresAt: own?.expiresAt ?? null };
}

/** Refuses unknown ids. Ids are never reused, so a key that is limited to an unknown id could never do anything. */
async function requireKnownIds(
  catalog: Catalog,
  principal: Principal,
  { hubIds = [], queryIds = [] }: KeyLimitValues,
): Promise<void> {
  const check = createChecker();
  const look = async (path: FieldPath, what: string, load: () => Promise<unknown>) => {
    try {
      await load();
    } catch (err) {
      if (!(err instanceof HubError) || err.code !== 'NOT_FOUND') throw err;
      check.fault(path, `names a ${what} that does not exist`);
    }
  };
  for (const [i, id] of hubIds.entries())
    await look(['limits', 'hubIds', i], 'hub', () => loadHub(catalog, principal, id));
  for (const [i, id] of queryIds.entries())
    await look(['limits', 'queryIds', i], 'query', () => loadQuery(catalog, principal, id));
  check.done();
}

/** Writes in the background and without a retry, because a concurrent call writes the same. */
function noteUse({ store }: Catalog, key: KeyDoc, nowMs: number): void {
  if (key.lastUsedAt !== null && nowMs - key.lastUsedAt < lastUsedStepMs) return;
  store.keys.replace({ ...key, lastUsedAt: nowMs, version: key.version + 1 }).catch(() => {});
}
