import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Collection, Doc, DocumentStore } from '../src/index.ts';
import { createQuota } from '../src/quota.ts';
import { openSqliteStore } from '../src/sqlite/store.ts';

let store: DocumentStore;
let things: Collection<Doc>;
let accounts = 0;
beforeAll(async () => {
  store = await openSqliteStore(':memory:', [{ name: 'things', indexes: [] }]);
  things = store.collection('things');
});
afterAll(() => store.close());

const newAccount = () => `account-${++accounts}`;

/** Makes things until it is refused, or there are `upTo`. */
async function fill(
  accountId: string,
  { max, upTo, made = 0 }: { max: number; upTo: number; made?: number },
): Promise<number> {
  const quota = createQuota(max);
  for (let count = made; count < upTo; count++) {
    try {
      using _room = await quota.requireRoom(things, { accountId, id: 'new' }, 'things');
      await things.insert({ id: `t${count}`, accountId, version: 1 });
    } catch (err) {
      expect(err).toMatchObject({ code: 'QUOTA_EXCEEDED' });
      return count;
    }
  }
  return upTo;
}

describe('an account with a quota', () => {
  it('makes as much as it may, and no more', async () => {
    expect(await fill(newAccount(), { max: 3, upTo: 10 })).toBe(3);
    expect(await fill(newAccount(), { max: 300, upTo: 310 })).toBe(300);
  });

  it('makes more once something is deleted', async () => {
    const accountId = newAccount();
    const quota = createQuota(1);
    const room = await quota.requireRoom(things, { accountId, id: 'new' }, 'things');
    await things.insert({ id: 'a', accountId, version: 1 });
    room[Symbol.dispose]();
    const refused = quota.requireRoom(things, { accountId, id: 'new' }, 'things');
    await expect(refused).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      message:
        'The account has 1 things already, and 1 are allowed. Delete what is not needed, or ask the operator for more.',
    });
    await things.delete(accountId, 'a');
    await quota.requireRoom(things, { accountId, id: 'new' }, 'things');
  });

  it.each([60, 250])(
    'makes exactly %i if it makes many more at once, and as many again after failures',
    async (max) => {
      const accountId = newAccount();
      const quota = createQuota(max);
      const make = async (id: string) => {
        using _room = await quota.requireRoom(things, { accountId, id }, 'things');
        await new Promise((resolve) => setTimeout(resolve));
        if (id.startsWith('bad')) throw new Error('The store failed.');
        await things.insert({ id, accountId, version: 1 });
      };
      const ids = Array.from({ length: max + 40 }, (_, i) => (i % 9 === 0 ? `bad${i}` : `u${i}`));
      await Promise.allSettled(ids.map(make));
      await Promise.allSettled(ids.map((id) => make(`v${id}`)));
      expect(await things.count({ accountId })).toBe(max);
    },
  );

  it('does not depend on what others have', async () => {
    await fill(newAccount(), { max: 2, upTo: 2 });
    expect(await fill(newAccount(), { max: 2, upTo: 3 })).toBe(2);
  });

  it('exceeds its bound by at most a hundredth if several processes create documents', async () => {
    const accountId = newAccount();
    const quotas = [createQuota(200), createQuota(200)];
    let count = 0;
    for (let refused = 0; refused < 2; ) {
      refused = 0;
      for (const quota of quotas) {
        const room = await quota
          .requireRoom(things, { accountId, id: 'new' }, 'things')
          .catch(() => undefined);
        if (room === undefined) refused++;
        else await things.insert({ id: `s${count++}`, accountId, version: 1 });
        room?.[Symbol.dispose]();
      }
    }
    expect(count).toBeGreaterThanOrEqual(200);
    expect(count).toBeLessThanOrEqual(202);
  });

  it('has no bound if the setting is 0', async () => {
    expect(await fill(newAccount(), { max: 0, upTo: 20 })).toBe(20);
  });
});
