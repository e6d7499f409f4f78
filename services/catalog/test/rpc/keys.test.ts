import { createQuota } from '@datahub/document-store/quota';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createIdFactory } from '@datahub/service-kit/id';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cpuMs, longestTurn } from '../../../../tests/support/timing/longest-turn.ts';
import type { Catalog } from '../../src/catalog.ts';
import type { KeyDoc } from '../../src/documents.ts';
import { isStronger } from '../../src/key-delegation.ts';
import { createLeftovers } from '../../src/maintenance/leftovers.ts';
import { createKeyCalls } from '../../src/rpc/keys.ts';
import { type CatalogStore, openCatalogStore } from '../../src/store.ts';
import { principalOf } from '../catalog-fixture.ts';

const createId = createIdFactory({ namespace: 'dh' });
let store: CatalogStore;
let calls: ReturnType<typeof createKeyCalls>;

beforeEach(async () => {
  store = await openCatalogStore('sqlite::memory:');
  const leftovers = createLeftovers(() => {});
  const catalog = { store, createId, nowMs: () => 42, namespace: 'dh', quota: createQuota(0), leftovers };
  calls = createKeyCalls(catalog as unknown as Catalog);
});
afterEach(() => store.close());

const ctx = (keyId = 'operator') =>
  createCallContext({ timeoutMs: 60_000, principal: { ...principalOf('a'), keyId } });
const limitsOf = (ratePerMinute?: number) => ({
  hubIds: [],
  queryIds: [],
  classifierIds: [],
  queries: [],
  origins: [],
  contextJson: '',
  ratePerMinute,
});
async function create(ratePerMinute?: number, makerId?: string): Promise<string> {
  const { key } = await calls.createKey(
    { name: 'k', scopes: ['*'], limits: limitsOf(ratePerMinute) },
    ctx(makerId),
  );
  return key?.keyId as string;
}
const setRate = (keyId: string, rate: number | undefined, by?: string) =>
  calls.updateKey(
    {
      keyId,
      limits: limitsOf(rate),
      removedLimits: rate === undefined ? ['ratePerMinute'] : [],
      neverExpires: false,
    },
    ctx(by),
  );
const stored = async (keyId: string) => (await store.keys.get('a', keyId)) as KeyDoc;
const rates = async (keyId: string) => {
  const { id, limits, budgets } = await stored(keyId);
  return (budgets ?? [{ id, perMinute: limits.ratePerMinute }]).map(({ perMinute }) => perMinute);
};

/** Calls `other` when the first of the following reads of a key has ended. */
function afterFirstRead(other: () => Promise<unknown>): void {
  const { get } = store.keys;
  let isFirst = true;
  store.keys.get = async (...of) => {
    const key = await get.apply(store.keys, of);
    if (!isFirst) return key;
    isFirst = false;
    await other();
    return key;
  };
}

describe('a key that was revoked, and that gateways still know', () => {
  it('makes, changes, replaces and revokes no keys', async () => {
    const [keyId, other] = [await create(), await create()];
    await calls.revokeKey({ keyId }, ctx());
    const refused = { code: 'KEY_INVALID' };
    await expect(create(undefined, keyId)).rejects.toMatchObject(refused);
    await expect(setRate(other, 5, keyId)).rejects.toMatchObject(refused);
    await expect(calls.rotateKey({ keyId: other }, ctx(keyId))).rejects.toMatchObject(refused);
    await expect(calls.revokeKey({ keyId: other }, ctx(keyId))).rejects.toMatchObject(refused);
    expect((await calls.listKeys({}, ctx())).keys.map((key) => key.keyId)).toEqual([other]);
  });
});

describe('rotating a key', () => {
  it('makes no key if the old one cannot be ended', async () => {
    const keyId = await create();
    const { replace } = store.keys;
    store.keys.replace = () => Promise.reject(new HubError('UNAVAILABLE', 'The disk is full.'));
    await expect(calls.rotateKey({ keyId }, ctx())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect((await calls.listKeys({}, ctx())).total).toBe(1);
    store.keys.replace = replace;
    await calls.rotateKey({ keyId }, ctx());
    expect((await calls.listKeys({}, ctx())).total).toBe(2);
    expect(await store.audit.count({ accountId: 'a', where: { action: 'key.rotate' } })).toBe(1);
  });

  it('leaves a key that replaces itself valid for a minute at least, so that a lost answer leaves one that works', async () => {
    const keyId = await create();
    const codeOf = (overlapSeconds: number, by: string) =>
      calls.rotateKey({ keyId, overlapSeconds }, ctx(by)).then(
        () => 'OK',
        ({ code }) => code,
      );
    for (const seconds of [0, 59]) expect(await codeOf(seconds, keyId)).toBe('VALIDATION');
    expect([(await calls.listKeys({}, ctx())).total, (await stored(keyId)).expiresAt]).toEqual([1, null]);
    expect([await codeOf(60, keyId), (await stored(keyId)).expiresAt]).toEqual(['OK', 60_042]);
    expect([await codeOf(0, 'operator'), (await stored(keyId)).expiresAt]).toEqual(['OK', 42]);
  });

  it('keeps the expiry that the key had before a rotation whose new key was not used', async () => {
    const keyId = await create();
    const rotate = async () => (await calls.rotateKey({ keyId, overlapSeconds: 60 }, ctx(keyId))).key;
    const lost = await rotate();
    const next = await rotate();
    expect([lost?.expiresAt, next?.expiresAt]).toEqual([undefined, undefined]);
    const used = await stored(next?.keyId as string);
    await store.keys.replace({ ...used, lastUsedAt: 42, version: used.version + 1 });
    // A key that was replaced makes none that outlives it.
    expect((await rotate())?.expiresAt).toEqual(new Date(60_042));
  });

  it('succeeds if another call replaces the same key while it is being read', async () => {
    const keyId = await create();
    afterFirstRead(() => calls.rotateKey({ keyId, overlapSeconds: 60 }, ctx(keyId)));
    const { key } = await calls.rotateKey({ keyId, overlapSeconds: 60 }, ctx(keyId));
    expect(key?.expiresAt).toBeUndefined();
    expect((await stored(keyId)).successor?.keyId).toBe(key?.keyId);
  });

  it('passes on a limit and an expiry that another call sets meanwhile', async () => {
    const keyId = await create();
    afterFirstRead(() =>
      calls.updateKey(
        {
          keyId,
          limits: { ...limitsOf(), maxRows: 5 },
          removedLimits: [],
          expiresAt: new Date(61_042),
          neverExpires: false,
        },
        ctx(),
      ),
    );
    const { key } = await calls.rotateKey({ keyId, overlapSeconds: 3_600 }, ctx());
    const made = await stored(key?.keyId as string);
    expect([made.limits, made.expiresAt]).toEqual([{ maxRows: 5 }, 61_042]);
    expect((await stored(keyId)).expiresAt).toBe(61_042);
  });

  it('does not put off the end that another call sets meanwhile', async () => {
    const keyId = await create();
    afterFirstRead(() => calls.rotateKey({ keyId, overlapSeconds: 0 }, ctx()));
    await expect(calls.rotateKey({ keyId, overlapSeconds: 86_400 }, ctx())).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    expect((await stored(keyId)).expiresAt).toBe(42);
  });

  it('makes no key if the process ends after any one of its writes', async () => {
    const keyId = await create();
    const writes: string[] = [];
    for (const name of ['insert', 'replace', 'delete'] as const) {
      const write = store.keys[name] as (...values: unknown[]) => Promise<unknown>;
      (store.keys as unknown as Record<string, unknown>)[name] = (...values: unknown[]) => {
        writes.push(name);
        return write.apply(store.keys, values);
      };
    }
    await calls.rotateKey({ keyId }, ctx());
    expect(writes).toEqual(['replace']);
  });
});

describe('the rate of a key', () => {
  it('changes in the keys that it created, directly and indirectly', async () => {
    const parent = await create(30);
    const same = await create(30, parent);
    const lower = await create(10, parent);
    const below = await create(5, lower);
    expect(await rates(same)).toEqual([30]);
    expect(await rates(below)).toEqual([30, 10, 5]);
    await setRate(parent, 60);
    expect(await rates(parent)).toEqual([60]);
    // It had no budget of its own, and its limit still holds.
    expect(await rates(same)).toEqual([60, 30]);
    expect(await rates(lower)).toEqual([60, 10]);
    expect(await rates(below)).toEqual([60, 10, 5]);
    await setRate(lower, 2);
    expect(await rates(below)).toEqual([60, 2, 5]);
    await setRate(parent, undefined);
    expect(await rates(parent)).toEqual([undefined]);
    expect(await rates(below)).toEqual([2, 5]);
    expect(await rates(same)).toEqual([30]);
    expect((await stored(parent)).budgets).toEqual([{ id: parent }]);
  });

  it('needs a budget of its own only if it is lower than the others', async () => {
    const parent = await create(30);
    const lower = await create(10, parent);
    const same = await create(10, lower);
    for (const rate of [10, 20]) {
      await setRate(same, rate);
      expect(await rates(same)).toEqual([30, 10]);
    }
    await setRate(same, 9);
    expect(await rates(same)).toEqual([30, 10, 9]);
  });

  it('can be lower and lower eight times', async () => {
    let keyId = await create(100);
    for (let rate = 99; rate > 92; rate--) keyId = await create(rate, keyId);
    expect(await rates(keyId)).toEqual([100, 99, 98, 97, 96, 95, 94, 93]);
    expect(await rates(await create(93, keyId))).toHaveLength(8);
    await expect(create(92, keyId)).rejects.toMatchObject({
      code: 'SCOPE_DENIED',
      message:
        'A chain of keys that each lower the rate can have at most 8 keys. Create this one with another key.',
    });
  });

  it('changes without reading whole keys or watches in batches', async () => {
    const keyId = await create(30);
    const child = await create(20, keyId);
    const find = () => Promise.reject(new Error('each can have hundreds of KB'));
    Object.assign(store.keys, { find });
    Object.assign(store.watches, { find });
    await setRate(keyId, 40);
    expect(await rates(child)).toEqual([40, 20]);
  });

  it('writes no key that does not share its budget, and its own key once', async () => {
    const [changed, foreign] = [await create(30), await create(30)];
    await setRate(changed, 20);
    expect([(await stored(changed)).version, (await stored(foreign)).version]).toEqual([2, 1]);
  });

  it('changes in the key that replaces it, and in the replaced one', async () => {
    const old = await create(30);
    const child = await create(20, old);
    const { key } = await calls.rotateKey({ keyId: old }, ctx());
    const next = key?.keyId as string;
    await setRate(next, 40);
    for (const id of [old, next]) {
      expect(await rates(id)).toEqual([40]);
      expect((await stored(id)).limits.ratePerMinute).toBe(40);
    }
    expect(await rates(child)).toEqual([40, 20]);
    expect((await stored(next)).budgets).toEqual((await stored(old)).budgets);
  });

  it('is raised by a key with a rate only within its own budget', async () => {
    const admin = await create(30);
    const own = await create(10, admin);
    const foreign = await create(10);
    await setRate(own, 20, admin);
    await setRate(foreign, 5, admin);
    const denied = expect.objectContaining({
      code: 'SCOPE_DENIED',
      message: 'A key with a rate limit can raise only the rates of keys that share its budget.',
    });
    await expect(setRate(foreign, 6, admin)).rejects.toEqual(denied);
    await setRate(foreign, 5, admin);
    expect(await rates(foreign)).toEqual([5]);
    // Both share the budget of the admin, but not that of the one that raises.
    const other = await create(25, admin);
    await expect(setRate(own, 21, other)).rejects.toEqual(denied);
    await setRate(foreign, 6, await create());
    expect(await rates(foreign)).toEqual([6]);
  });
});

it('a key that an earlier attempt at the same operation made is named, because its secret is lost', async () => {
  const operation = { ...ctx(), operation: '42:o' };
  const wanted = { name: 'k', scopes: ['*'], limits: limitsOf() };
  const { key } = await calls.createKey(wanted, operation);
  const named = { code: 'IDEMPOTENCY_CONFLICT', message: expect.stringContaining(`${key?.keyId}.`) };
  await expect(calls.createKey(wanted, operation)).rejects.toMatchObject(named);
  const rotation = { ...ctx(), operation: '42:p' };
  const keyId = key?.keyId as string;
  await calls.rotateKey({ keyId }, rotation);
  await expect(calls.rotateKey({ keyId }, rotation)).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
  expect((await calls.listKeys({}, ctx())).total).toBe(2);
});

describe('the maker of a key', () => {
  const listed = async (by?: string) => {
    const { keys = [] } = await calls.listKeys({}, ctx(by));
    return Object.fromEntries(keys.map(({ keyId, madeBy }) => [keyId, madeBy]));
  };

  it('is listed with the name that it had, also after both keys were replaced', async () => {
    const maker = await create();
    const made = await create(undefined, maker);
    await calls.updateKey({ keyId: maker, name: 'other', removedLimits: [], neverExpires: false }, ctx());
    const { key: nextMade } = await calls.rotateKey({ keyId: made }, ctx());
    const { key: nextMaker } = await calls.rotateKey({ keyId: maker }, ctx());
    await calls.revokeKey({ keyId: maker }, ctx());
    const later = await create(undefined, nextMaker?.keyId);
    expect(await listed()).toEqual({
      [made]: { keyId: maker, name: 'k' },
      [nextMade?.keyId as string]: { keyId: maker, name: 'k' },
      // The operator made it.
      [nextMaker?.keyId as string]: undefined,
      [later]: { keyId: nextMaker?.keyId, name: 'other' },
    });
  });

  it('is hidden from a key that is limited to queries, unless it is the maker', async () => {
    const maker = await create();
    const confined = await create(undefined, maker);
    const child = await create(undefined, confined);
    for (const keyId of [confined, child]) {
      const doc = await stored(keyId);
      await store.keys.replace({ ...doc, limits: { queryIds: ['q'] }, version: doc.version + 1 });
    }
    expect(await listed(confined)).toEqual({
      [confined]: undefined,
      [child]: { keyId: confined, name: 'k' },
    });
    expect(await listed(maker)).toMatchObject({ [confined]: { keyId: maker, name: 'k' } });
  });

  it('is hidden for a key that may do more than the caller', async () => {
    const weak = await create(5);
    const strong = await create(undefined, await create());
    expect((await listed(weak))[strong]).toBeUndefined();
    expect((await listed())[strong]).toBeDefined();
  });
});

it('keys with many hubs are compared with that of the caller in several turns', async () => {
  const hubIds = Array.from({ length: 200 }, () => createId('hub', 42));
  const caller = await stored(await create());
  const limited = { ...caller, limits: { hubIds }, version: 2 };
  await store.keys.replace(limited);
  const made = Array.from({ length: 1_000 }, (_, i) => ({
    ...limited,
    ...{ id: createId('key', 42), version: 1, hash: `hash ${i}`, maker: caller.id },
  }));
  await store.keys.insertMany(made);
  const startedAt = cpuMs();
  for (const key of made) isStronger(limited, key);
  const wholeMs = cpuMs() - startedAt;

  let total = 0;
  const list = async () => ({ total } = await calls.listKeys({}, ctx(caller.id)));
  expect(await longestTurn(list)).toBeLessThan(Math.max(wholeMs / 2, 40));
  expect(total).toBe(1_001);
});
