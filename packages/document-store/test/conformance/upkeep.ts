import { expect, it } from 'vitest';
import type { Context, Item } from './cases.ts';
import { invalid, item, numbered } from './cases.ts';

export function describeTenancy({ items, account }: Context): void {
  it('never reaches a document of another account', async () => {
    const [mine, theirs] = [account(), account()];
    await items().insert(item(theirs, 'a', { group: 'g', hits: 5 }));
    expect(await items().get(mine, 'a')).toBeNull();
    expect(await items().replace(item(mine, 'a', { version: 2 }))).toBe(false);
    expect(await items().delete(mine, 'a')).toBe(false);
    expect(await items().add(mine, 'a', { counter: 'hits', by: 1 })).toBeNull();
    expect(await items().find({ accountId: mine, where: { group: 'g' }, limit: 9 })).toEqual([]);
    expect(await items().findSummaries({ accountId: mine, limit: 9 })).toEqual([]);
    expect(await items().deleteMany({ accountId: mine, limit: 9 })).toBe(0);
    expect(await items().count({ accountId: mine })).toBe(0);
    // The same id in two accounts is two documents: an id tells nothing about other accounts.
    await items().insert(item(mine, 'a', { group: 'mine' }));
    expect(await items().get(theirs, 'a')).toMatchObject({ version: 1, group: 'g', hits: 5 });
  });

  it('takes no operator for a value', async () => {
    const accountId = account();
    await items().insert(item(accountId, 'a', { group: 'g' }));
    const operators = [{ $ne: null }, { $gt: '' }, ['g'], /g/, true];
    for (const operator of operators as never[]) {
      expect(await items().get(accountId, operator)).toBeNull();
      expect(await items().get(operator, 'a')).toBeNull();
      expect(await items().delete(accountId, operator)).toBe(false);
      expect(await items().find({ accountId: operator, limit: 9 })).toEqual([]);
      expect(await items().find({ accountId, idPrefix: operator, limit: 9 })).toEqual([]);
      await expect(items().find({ accountId, where: { group: operator }, limit: 9 })).rejects.toEqual(
        invalid,
      );
    }
    await expect(items().find({ accountId, where: { label: 'x' }, limit: 9 })).rejects.toThrow(TypeError);
    await expect(items().find({ accountId, where: { $or: 'x' }, limit: 9 })).rejects.toThrow(TypeError);
    expect(await items().count({ accountId })).toBe(1);
  });
}

export function describeUpkeep({ store, items, account }: Context): void {
  it('visits every document of every account once', async () => {
    const accounts = [account(), account()];
    for (const accountId of accounts) await items().insertMany(numbered(accountId, 5));
    const seen: string[] = [];
    let after: { accountId: string; id: string } | undefined;
    for (;;) {
      const page: Item[] = await items().scan({ after, limit: 3 });
      after = page.at(-1);
      if (after === undefined) break;
      seen.push(...page.map((doc) => `${doc.accountId} ${doc.id}`));
    }
    expect(new Set(seen).size).toBe(seen.length);
    for (const accountId of accounts) {
      expect(seen.filter((entry) => entry.startsWith(`${accountId} `))).toHaveLength(5);
    }
  });

  it('sweeps what has expired, boundedly, and nothing else', async () => {
    const accountId = account();
    const goneAt = [100, 101, 102, 200, null, undefined];
    await items().insertMany(
      goneAt.map((at, i) => item(accountId, `e${i}`, at === undefined ? {} : { goneAt: at })),
    );
    expect(await items().sweepExpired(150, 2)).toBe(2);
    expect(await items().sweepExpired(150, 2)).toBe(1);
    expect(await items().sweepExpired(150, 2)).toBe(0);
    const left = await items().find({ accountId, limit: 9 });
    expect(left.map((doc) => doc.id)).toEqual(['e3', 'e4', 'e5']);
    expect(await items().count({ accountId })).toBe(3);
  });

  it('sweeps documents of one kind apart from others', async () => {
    const accountId = account();
    const kinds = [undefined, 1, undefined, 1, 2];
    await items().insertMany(
      kinds.map((kind, i) => item(accountId, `e${i}`, { goneAt: 100 + i, ...(kind ? { kind } : {}) })),
    );
    expect(await items().sweepExpired(150, 9, 1)).toBe(2);
    expect(await items().sweepExpired(101, 9)).toBe(1);
    const left = await items().find({ accountId, limit: 9 });
    expect(left.map((doc) => doc.id)).toEqual(['e2', 'e4']);
    expect([await items().sweepExpired(150, 9), await items().sweepExpired(150, 9, 2)]).toEqual([1, 1]);
  });

  it('finds what is due across accounts, the earliest first', async () => {
    const [one, other] = [account(), account()];
    await items().insertMany([
      item(one, 'late', { dueAt: 151 }),
      item(one, 'second', { dueAt: 120 }),
      item(one, 'never', { dueAt: null }),
    ]);
    await items().insertMany([item(other, 'first', { dueAt: 110 }), item(other, 'deleted', { dueAt: 100 })]);
    await items().delete(other, 'deleted');
    const due = async (limit: number) => (await items().findDue(150, limit)).found.map(({ id }) => id);
    expect(await due(9)).toEqual(['first', 'second']);
    expect(await due(1)).toEqual(['first']);
    for (const limit of [2, 3]) expect((await items().findDue(150, limit)).isAll).toBe(limit === 3);
    const first = (await items().get(other, 'first')) as Item;
    await items().replace({ ...first, dueAt: null, version: 2 });
    expect(await due(9)).toEqual(['second']);
  });

  it('is healthy, and knows only its own collections', async () => {
    await expect(store().health()).resolves.toBeUndefined();
    expect(() => store().collection('others')).toThrow(TypeError);
  });
}
