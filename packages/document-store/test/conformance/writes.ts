import { expect, it } from 'vitest';
import type { Context, Item } from './cases.ts';
import { conflict, ids, item, numbered } from './cases.ts';

export function describeWrites({ items, account }: Context): void {
  it('gives back what was inserted, and null for what was not', async () => {
    const accountId = account();
    const doc = item(accountId, 'a', { label: 'Sales', data: { list: [1, 'two', null, { three: 3.5 }] } });
    await items().insert(doc);
    expect(await items().get(accountId, 'a')).toEqual({ ...doc, hits: 0 });
    expect(await items().get(accountId, 'b')).toBeNull();
  });

  it('refuses a second document with the same id or unique value, and keeps the first', async () => {
    const accountId = account();
    const doc = item(accountId, 'a', { label: 'first' });
    await items().insert(doc);
    await expect(items().insert(item(accountId, 'a'))).rejects.toEqual(conflict);
    await expect(items().insert(item(accountId, 'b', { secret: doc.secret }))).rejects.toEqual(conflict);
    expect((await items().get(accountId, 'a'))?.label).toBe('first');
    expect(await items().get(accountId, 'b')).toBeNull();
  });

  it('lets exactly one of many writers win each version', async () => {
    const accountId = account();
    await items().insert(item(accountId, 'a', { label: 'start' }));
    const wins = await Promise.all(
      Array.from({ length: 16 }, (_, i) =>
        items().replace(item(accountId, 'a', { version: 2, label: `writer ${i}` })),
      ),
    );
    expect(wins.filter(Boolean)).toHaveLength(1);
    const kept = await items().get(accountId, 'a');
    expect(kept).toMatchObject({ version: 2, label: `writer ${wins.indexOf(true)}` });
    expect(await items().replace(item(accountId, 'missing', { version: 2 }))).toBe(false);
    expect(await items().get(accountId, 'missing')).toBeNull();
  });

  it('loses no update of writers that read, change and replace', async () => {
    const accountId = account();
    await items().insert(item(accountId, 'a', { data: 0 }));
    async function increment(): Promise<void> {
      const doc = (await items().get(accountId, 'a')) as Item;
      const next = { ...doc, version: doc.version + 1, data: Number(doc.data) + 1 };
      if (!(await items().replace(next))) await increment();
    }
    await Promise.all(Array.from({ length: 12 }, increment));
    expect(await items().get(accountId, 'a')).toMatchObject({ version: 13, data: 12 });
  });

  it('drops a field that the replacing document no longer has', async () => {
    const accountId = account();
    await items().insert(
      item(accountId, 'a', { label: 'x', group: 'g', blob: new Uint8Array([1]), goneAt: 1 }),
    );
    const next = item(accountId, 'a', { version: 2 });
    await items().replace(next);
    expect(await items().get(accountId, 'a')).toEqual({ ...next, hits: 0 });
    expect(await items().count({ accountId, where: { group: 'g' } })).toBe(0);
    expect(await items().count({ accountId, where: { group: null } })).toBe(1);
  });

  it('refuses to replace with a unique value that another document has', async () => {
    const accountId = account();
    const other = item(accountId, 'other');
    await items().insertMany([other, item(accountId, 'a')]);
    const next = item(accountId, 'a', { version: 2, secret: other.secret });
    await expect(items().replace(next)).rejects.toEqual(conflict);
    expect((await items().get(accountId, 'a'))?.version).toBe(1);
  });

  it('lets one document of a group have a path, and any number have none', async () => {
    const [accountId, other] = [account(), account()];
    await items().insertMany(numbered(accountId, 3, () => ({ group: 'g' })));
    await items().insert(item(accountId, 'a', { group: 'g', path: 'x/y', nick: 'n' }));
    const refused = [
      item(accountId, 'b', { group: 'g', path: 'x/y' }),
      item(accountId, 'b', { group: 'h', nick: 'n' }),
    ];
    for (const doc of refused) await expect(items().insert(doc)).rejects.toEqual(conflict);
    await items().insert(item(accountId, 'b', { group: 'h', path: 'x/y' }));
    await items().insert(item(other, 'a', { group: 'g', path: 'x/y', nick: 'n' }));
    const taken = item(accountId, 'dh.q.0000', { version: 2, group: 'g', path: 'x/y' });
    await expect(items().replace(taken)).rejects.toEqual(conflict);
    const found = await items().find({ accountId, where: { group: 'g', path: 'x/y' }, limit: 2 });
    expect(found.map(({ id }) => id)).toEqual(['a']);
    // Both removing the path and deleting the document free it.
    expect(await items().replace(item(accountId, 'a', { version: 2, group: 'g' }))).toBe(true);
    expect(await items().replace(taken)).toBe(true);
    const companion = { collection: 'entries', doc: { id: 'e', accountId, version: 1 } };
    expect(await items().delete(accountId, 'dh.q.0000', { companion })).toBe(true);
    await items().insert(item(accountId, 'c', { group: 'g', path: 'x/y', nick: 'n' }));
  });

  it('deletes only while version and counter are as asked', async () => {
    const accountId = account();
    await items().insert(item(accountId, 'a', { hits: 1 }));
    expect(await items().delete(accountId, 'a', { version: 2 })).toBe(false);
    expect(await items().delete(accountId, 'a', { zero: 'hits' })).toBe(false);
    await items().add(accountId, 'a', { counter: 'hits', by: -1 });
    expect(await items().delete(accountId, 'a', { version: 1, zero: 'hits' })).toBe(true);
    expect(await items().delete(accountId, 'a')).toBe(false);
    expect(await items().get(accountId, 'a')).toBeNull();
  });

  it('counts every addition of many writers, apart from the version', async () => {
    const accountId = account();
    await items().insert(item(accountId, 'a', { hits: 10 }));
    const values = await Promise.all(
      Array.from({ length: 20 }, () => items().add(accountId, 'a', { counter: 'hits', by: 2 })),
    );
    expect([...values].sort((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 20 }, (_, i) => 12 + 2 * i),
    );
    expect(await items().replace(item(accountId, 'a', { version: 2, hits: 0 }))).toBe(true);
    expect((await items().get(accountId, 'a'))?.hits).toBe(50);
    expect(await items().add(accountId, 'missing', { counter: 'hits', by: 1 })).toBeNull();
  });

  it('inserts of a batch what is new, and nothing twice', async () => {
    const accountId = account();
    const first = item(accountId, 'dh.q.0002', { label: 'first' });
    await items().insert(first);
    const batch = numbered(accountId, 4, () => ({ label: 'second' }));
    await items().insertMany(batch);
    await items().insertMany(batch);
    const found = await items().find({ accountId, limit: 10 });
    expect(found.map(({ label }) => label)).toEqual(['second', 'second', 'first', 'second']);
    expect(await items().count({ accountId })).toBe(4);
  });

  it('refuses a batch with a unique value that another document has', async () => {
    const accountId = account();
    const other = item(accountId, 'dh.q.0009');
    await items().insert(other);
    const batch = [...numbered(accountId, 2), item(accountId, 'dh.q.0005', { secret: other.secret })];
    await expect(items().insertMany(batch)).rejects.toEqual(conflict);
    expect([[9], [0, 1, 9]]).toContainEqual(ids(await items().find({ accountId, limit: 10 })));
  });
}
