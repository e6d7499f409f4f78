/** The RPCs that authenticate keys and manage the keys of an account. */

import type { Complete } from '@datahub/contract/complete';
import type { KeyLimitValues } from '@datahub/contract/key-limits';
import { rotationOverlapSeconds } from '@datahub/contract/limits';
import type { FieldPath } from '@datahub/contract/validation-error';
import { isConfined } from '@datahub/contract/withheld';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type CallContext, type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { fieldError, HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import { inGroups } from '@datahub/service-kit/yield-to-loop';
import { authenticateAgent, endAgents } from '../agents/agent.ts';
import { type Catalog, insertOnce, loadHub, loadQuery, makeContext, notFound } from '../catalog.ts';
import { createChecker } from '../check.ts';
import type { KeyDoc } from '../documents.ts';
import { type KeyPatch, makeKey, patchKey, requireValid } from '../key.ts';
import {
  budgetsOf,
  followRate,
  inheritBudgets,
  isStronger,
  isVisible,
  lineageOf,
  makerSeenBy,
  requireNoMore,
  requireNoStronger,
  requireOwnRate,
  requireVisible,
  setRate,
} from '../key-delegation.ts';
import { listPage, listSome } from '../pagination.ts';
import { findKey, principalOf, stateOfKey } from '../people/acting.ts';
import { authenticateSession } from '../people/session.ts';
import { settledPins, withKnownPins, withSecretPins } from '../secret-variables/pinned-secrets.ts';
import { moveKeyWatches, settleKeyWatches } from '../watches/key-watches.ts';
import { auditEntry } from './audit.ts';
import { loadCaller, loadKey, reachOf } from './key-access.ts';
import { readName } from './query-names/granted-name.ts';
import { grantName } from './query-names/reach.ts';
import { fromLimits, toKey, toListed } from './to-proto.ts';

const overlapDefaultMs = 3_600_000;
const attemptsMax = 50;
const madeBefore = ({ id }: KeyDoc) =>
  new HubError(
    'IDEMPOTENCY_CONFLICT',
    `The first request with this Idempotency-Key created ${id}. Its answer with the secret was lost. Rotate the key to get a new one.`,
  );
/** The lists of two keys can take a tenth of a millisecond to compare. */
const comparedAtOnce = 20;
/** The keys that one read of the store returns. */
const batchSize = 100;
/** The resolution of `lastUsedAt`, so that not every use writes. */
const lastUsedStepMs = 60_000;

export function createKeyCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    authenticate: async ({ keySha256 }) => {
      const hash = Buffer.from(keySha256).toString('hex');
      const key = hash.length === 64 ? await store.keys.getUnique('hash', hash) : null;
      if (key === null && hash.length === 64) {
        const found = (await authenticateSession(catalog, hash)) ?? (await authenticateAgent(catalog, hash));
        if (found !== undefined) return found;
      }
      const nowMs = catalog.nowMs();
      requireValid(key, nowMs);
      noteUse(catalog, key, nowMs);
      return {
        principal: await principalOf(catalog, key),
        expiresAt: key.expiresAt === null ? undefined : new Date(key.expiresAt),
      };
    },

    resolveKey: async ({ keyId }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const key = await findKey(catalog, { accountId, keyId });
      requireValid(key, catalog.nowMs());
      return { principal: await principalOf(catalog, key) };
    },

    createKey: async ({ name, scopes, limits, expiresAt }, ctx) => {
      const context = makeContext(catalog, ctx);
      const maker = await loadCaller(catalog, context.principal);
      const narrowed = withKnownPins(fromLimits(limits), maker?.limits);
      const made = makeKey(
        { name, scopes, limits: narrowed, expiresAt: expiresAt?.getTime() ?? null },
        context,
      );
      requireNoMore(reachOf(context.principal, maker), made.doc);
      await requireKnownIds(catalog, context.principal, narrowed);
      await grantNames(catalog, ctx, narrowed);
      using _room = await catalog.quota.requireRoom(store.keys, made.doc, 'keys');
      const doc = inheritBudgets(maker, {
        ...(await withSecretPins(catalog, made.doc)),
        ...(maker === null ? {} : makerMembers(maker)),
      });
      const entry = auditEntry(catalog, ctx, { rpc: 'createKey', resourceId: doc.id });
      if ((await insertOnce(store.keys, doc, entry)) !== doc) throw madeBefore(doc);
      return { key: toKey(doc, makerSeenBy(maker, doc)), secret: made.secret };
    },

    listKeys: async ({ page }, ctx) => {
      const principal = requirePrincipal(ctx);
      const { accountId } = principal;
      const caller = await loadCaller(catalog, principal);
      const { docs, total } =
        caller !== null && isConfined(caller.limits)
          ? await listSome(store.keys, { accountId, isListed: (key) => isVisible(caller, key) }, page)
          : await listPage(store.keys, { accountId }, page);
      const reach = reachOf(principal, caller);
      const settled: KeyDoc[] = [];
      // One after the other, because each can read many queries.
      for (const doc of docs) settled.push(await settledPins(catalog, doc));
      const keys = await inGroups(settled, comparedAtOnce, async (key) =>
        toListed(key, {
          isStronger: isStronger(reach, key),
          madeBy: makerSeenBy(caller, key),
          state: await stateOfKey(catalog, key),
        }),
      );
      return { keys, total };
    },

    updateKey: async ({ keyId, name, limits, removedLimits, expiresAt, neverExpires, handOver }, ctx) => {
      const context = makeContext(catalog, ctx);
      const wanted = fromLimits(limits);
      await requireKnownIds(catalog, context.principal, wanted);
      const ends = neverExpires ? null : expiresAt?.getTime();
      const patch: Complete<KeyPatch> = { name, limits: wanted, removedLimits, expiresAt: ends, handOver };
      const { key, caller } = await changeKey(catalog, ctx, { keyId, patch });
      const { ratePerMinute } = wanted;
      if (ratePerMinute !== undefined || removedLimits.includes('ratePerMinute'))
        // The key is changed already.
        await tellRate(catalog, key).catch((err) => {
          throw outcomeUnknown(err);
        });
      await settleKeyWatches(catalog, { accountId: key.accountId, keyId });
      return { key: toKey(key, makerSeenBy(caller, key), await stateOfKey(catalog, key)) };
    },

    rotateKey: async ({ keyId, overlapSeconds }, ctx) => {
      const context = makeContext(catalog, ctx);
      const overlapMs = overlapSeconds === undefined ? overlapDefaultMs : overlapSeconds * 1000;
      if (overlapMs > rotationOverlapSeconds.max * 1_000) {
        const detail = `must be at most ${rotationOverlapSeconds.max}`;
        throw fieldError([{ path: ['overlapSeconds'], detail }]);
      }
      const isOwn = keyId === context.principal.keyId;
      if (isOwn) requireTimeToRepeat(overlapMs);
      for (let attempt = 0; attempt < attemptsMax; attempt++) {
        const old = await settledPins(catalog, await loadKey(catalog, context.accountId, keyId));
        const caller = await loadCaller(catalog, context.principal, old);
        requireVisible(caller, old);
        requireNoMore(reachOf(context.principal, caller), old);
        await requireUnended(catalog, old);
        const { name, scopes, limits } = old;
        const expiresAt = isOwn ? await expiryToPassOn(catalog, old) : old.expiresAt;
        const made = makeKey({ name, scopes, limits, expiresAt }, makeContext(catalog, ctx));
        if (old.successor?.keyId === made.doc.id) throw madeBefore(made.doc);
        using _room = await catalog.quota.requireRoom(store.keys, made.doc, 'keys');
        // Both keys share one budget while the old one is valid.
        const doc = {
          ...made.doc,
          ...(old.secretPins === undefined ? {} : { secretPins: old.secretPins }),
          budgets: budgetsOf(old),
          ownBudget: lineageOf(old),
          ...(old.maker === undefined ? {} : { maker: old.maker }),
          ...(old.madeBy === undefined ? {} : { madeBy: old.madeBy }),
          ...(old.personId === undefined ? {} : { personId: old.personId }),
        };
        const endsAt = Math.min(context.nowMs + overlapMs, old.expiresAt ?? Number.POSITIVE_INFINITY);
        const entry = auditEntry(catalog, ctx, { rpc: 'rotateKey', resourceId: keyId });
        const successor = { keyId: doc.id, expiresAt };
        const ended = { ...old, expiresAt: endsAt, successor, version: old.version + 1 };
        // One write: a crash leaves no key that nobody has seen. If the key has changed since it was read, all is done again.
        if (await store.keys.replace(ended, [{ collection: 'keys', doc }, entry])) {
          await moveKeyWatches(catalog, old.id, doc);
          return {
            key: toKey(doc, makerSeenBy(caller, doc)),
            secret: made.secret,
            previousExpiresAt: new Date(endsAt),
          };
        }
      }
      throw tooMany();
    },

    revokeKey: async ({ keyId }, ctx) => {
      const principal = requirePrincipal(ctx);
      const key = await loadKey(catalog, principal.accountId, keyId);
      const caller = await loadCaller(catalog, principal, key);
      requireVisible(caller, key);
      requireNoStronger(reachOf(principal, caller), key);
      const companion = auditEntry(catalog, ctx, { rpc: 'revokeKey', resourceId: keyId });
      if (!(await store.keys.delete(principal.accountId, keyId, { companion }))) throw notFound('key');
      const { accountId } = principal;
      await catalog.leftovers.finish(`agents of ${keyId}`, () =>
        endAgents(catalog, { accountId, where: { keyId } }),
      );
      await settleKeyWatches(catalog, { accountId, keyId });
      return {};
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

/** A key that a person makes ends with the person. */
const makerMembers = (maker: KeyDoc) => ({
  maker: lineageOf(maker),
  madeBy: { keyId: maker.id, name: maker.name },
  ...(maker.personId === undefined ? {} : { personId: maker.personId }),
});

async function requireUnended(catalog: Catalog, key: KeyDoc): Promise<void> {
  const state = await stateOfKey(catalog, key);
  const how = { active: '', paused: '', expired: 'has expired', ended: 'has ended with its person' }[state];
  if (how === '') return;
  throw new HubError('CONFLICT', `This key ${how} and cannot be changed or rotated. Create a new one.`);
}

/**
 * The expiry of the key that replaces `old`. Nobody has used the one that replaced it before: its answer was lost, so the
 * owner tries again, and must not get a key that ends with `old`.
 */
async function expiryToPassOn({ store }: Catalog, old: KeyDoc): Promise<number | null> {
  const before = old.successor && (await store.keys.get(old.accountId, old.successor.keyId));
  return old.successor && before?.lastUsedAt === null ? old.successor.expiresAt : old.expiresAt;
}

/** If the answer is lost, the old key is the only one that its owner has. */
function requireTimeToRepeat(overlapMs: number): void {
  if (overlapMs >= rotationOverlapSeconds.ownMin * 1_000) return;
  const detail = `must be at least ${rotationOverlapSeconds.ownMin} when a key replaces itself, because the answer can be lost. Revoke the old key with the new one to end it earlier`;
  throw fieldError([{ path: ['overlapSeconds'], detail }]);
}

const tooMany = () =>
  new HubError('UNAVAILABLE', 'Too many calls change this key at the same time. Try again.', {
    retryable: true,
  });

interface KeyChange {
  keyId: string;
  patch: KeyPatch;
}

/** Retries, because concurrent uses of the key change its document. */
async function changeKey(
  catalog: Catalog,
  ctx: CallContext,
  { keyId, patch }: KeyChange,
): Promise<{ key: KeyDoc; caller: KeyDoc | null }> {
  const { accountId, principal, nowMs } = makeContext(catalog, ctx);
  const entry = auditEntry(catalog, ctx, { rpc: 'updateKey', resourceId: keyId });
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const old = await loadKey(catalog, accountId, keyId);
    const caller = await loadCaller(catalog, principal, old);
    const reach = reachOf(principal, caller);
    requireVisible(caller, old);
    requireNoStronger(reach, old);
    await requireUnended(catalog, old);
    const known = withKnownPins(patch.limits, old.limits);
    const next = setRate(patchKey(old, { ...patch, limits: known }, nowMs));
    requireNoMore(reach, next);
    requireOwnRate(caller, old, next);
    await grantNames(catalog, ctx, patch.limits);
    const changed = { ...(await withSecretPins(catalog, next, old)), version: old.version + 1 };
    if (await catalog.store.keys.replace(changed, entry)) return { key: changed, caller };
  }
  throw tooMany();
}

/** Changes the rate in the keys that share the key's budget. If this fails midway, repeating the update completes it. */
async function tellRate({ store: { keys } }: Catalog, changed: KeyDoc): Promise<void> {
  const { accountId } = changed;
  for (let after = {}; ; ) {
    // Ids alone: a key can have hundreds of KB.
    const batch = await keys.findSummaries({ accountId, ...after, limit: batchSize });
    for (const { id } of batch) {
      for (let attempt = 0; ; attempt++) {
        const key = await keys.get(accountId, id);
        const next = key === null ? key : followRate(key, changed);
        if (key === null || next === null || next === key) break;
        if (await keys.replace({ ...next, version: key.version + 1 })) break;
        if (attempt === attemptsMax) throw tooMany();
      }
    }
    const last = batch.at(-1);
    if (last === undefined || batch.length < batchSize) return;
    after = { afterId: last.id };
  }
}

/** Refuses unknown ids. Ids are never reused, so a key that is limited to an unknown id could never do anything. */
async function requireKnownIds(
  catalog: Catalog,
  principal: Principal,
  { hubIds = [], queryIds = [], queries = [] }: KeyLimitValues,
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
  for (const [i, name] of queries.entries())
    if (readName(name) === undefined)
      await look(['limits', 'queries', i], 'query', () => loadQuery(catalog, principal, name));
  check.done();
}

/** Call this once the caller is known to be able to give a key with these limits. Refuses names of no query. */
async function grantNames(
  catalog: Catalog,
  ctx: CallContext,
  { queries = [] }: KeyLimitValues,
): Promise<void> {
  const check = createChecker();
  const principal = requirePrincipal(ctx);
  for (const [i, name] of queries.entries()) {
    const fault = await grantName(catalog, ctx, { principal, name });
    if (fault !== undefined) check.fault(['limits', 'queries', i], fault);
  }
  check.done();
}

/** Writes in the background and without a retry, because a concurrent call writes the same. */
function noteUse({ store }: Catalog, key: KeyDoc, nowMs: number): void {
  if (key.lastUsedAt !== null && nowMs - key.lastUsedAt < lastUsedStepMs) return;
  store.keys.replace({ ...key, lastUsedAt: nowMs, version: key.version + 1 }).catch(() => {});
}
