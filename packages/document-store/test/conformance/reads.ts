import { expect, it } from 'vitest';
import type { Context } from './cases.ts';
import { conflict, ids, item, numbered } from './cases.ts';

export function describeReads({ items, account }: Context): void {
  it('pages by id in both directions, with offset, bounds and prefix', async () => {
    const accountId = account();
    const all = numbered(accountId, 30, (i) => ({ group: i % 3 }));
    // Written out of order: the order of reading is that of the ids.
    await items().insertMany(all.toSorted((a, b) => Number(a.secret > b.secret) - 0.5));
    const find = async (page: object) => ids(await items().find({ accountId, limit: 3, ...page }));
    expect(await find({})).toEqual([0, 1, 2]);
    expect(await find({ offset: 28 })).toEqual([28, 29]);
    expect(await find({ offset: 30 })).toEqual([]);
    expect(await find({ descending: true })).toEqual([29, 28, 27]);
    expect(await find({ descending: true, offset: 1 })).toEqual([28, 27, 26]);
    expect(await find({ afterId: 'dh.q.0004' })).toEqual([5, 6, 7]);
    expect(await find({ beforeId: 'dh.q.0002' })).toEqual([0, 1]);
    expect(await find({ beforeId: 'dh.q.0020', descending: true, offset: 1 })).toEqual([18, 17, 16]);
    expect(await find({ idPrefix: 'dh.q.001', offset: 8 })).toEqual([18, 19]);
    expect(await find({ idPrefix: 'dh.q.001', afterId: 'dh.q.0005' })).toEqual([10, 11, 12]);
    expect(await find({ where: { group: 1 } })).toEqual([1, 4, 7]);
    expect(await find({ where: { group: 1 }, offset: 9 })).toEqual([28]);
    expect(await find({ where: { group: 1 }, afterId: 'dh.q.0007', descending: true })).toEqual([28, 25, 22]);
    expect(await find({ limit: 0 })).toEqual([]);
    const between = { afterId: 'dh.q.0007', beforeId: 'dh.q.0020' };
    expect(await items().count({ accountId, where: { group: 1 } })).toBe(10);
    expect(await items().count({ accountId, where: { group: 1 }, ...between })).toBe(4);
    expect(await items().count({ accountId, ...between })).toBe(12);
    expect(await find({ charactersMax: 0 })).toEqual([0]);
    expect(await find({ charactersMax: 100_000 })).toEqual([0, 1, 2]);
    // Each has about a hundred characters.
    const numbers = await find({ limit: 30 });
    const some = await find({ limit: 30, charactersMax: 2_500 });
    expect(some.length).toBeGreaterThan(20);
    expect(some).toEqual(numbers.slice(0, some.length));
    const rest = { limit: 30, offset: 2, charactersMax: 100_000 };
    expect(await find(rest)).toEqual(numbers.slice(2));
    expect(await find({ ...rest, descending: true })).toEqual(numbers.toReversed().slice(2));
    expect(
      await items().scan({ after: { accountId, id: ' ' }, limit: 30, charactersMax: 100_000 }),
    ).toHaveLength(30);
    const scan = { after: { accountId, id: ' ' }, limit: 3 };
    expect(await items().scan({ ...scan, charactersMax: 0 })).toHaveLength(1);
    expect(await items().scan({ ...scan, charactersMax: 100_000 })).toHaveLength(3);
    expect(await items().count({ accountId })).toBe(30);
    expect(await items().count({ accountId, where: { group: 1, parent: null } })).toBe(10);
  });

  it('counts what insertions and deletions leave', async () => {
    const accountId = account();
    expect(await items().count({ accountId })).toBe(0);
    await items().insertMany(numbered(accountId, 10));
    expect(await items().count({ accountId })).toBe(10);
    await items().delete(accountId, 'dh.q.0000');
    expect(await items().deleteMany({ accountId, idPrefix: 'dh.q.', limit: 4 })).toBe(4);
    await expect(items().insert(item(accountId, 'dh.q.0009'))).rejects.toEqual(conflict);
    expect(await items().count({ accountId })).toBe(5);
    expect(ids(await items().find({ accountId, limit: 10 }))).toEqual([5, 6, 7, 8, 9]);
  });

  it('keeps large counts right through every kind of change', async () => {
    const accountId = account();
    const count = (where?: Record<string, number | null>) =>
      items().count(where === undefined ? { accountId } : { accountId, where });
    await items().insertMany(numbered(accountId, 1100, () => ({ group: 0 })));
    expect([await count(), await count({ group: 0 }), await count({ group: 1 })]).toEqual([1100, 1100, 0]);
    await items().replace(item(accountId, 'dh.q.0000', { version: 2, group: 1 }));
    await items().replace(item(accountId, 'dh.q.0001', { version: 2, group: 0 }));
    await items().replace(item(accountId, 'dh.q.0002', { version: 9, group: 1 }));
    await items().delete(accountId, 'dh.q.0003');
    await items().delete(accountId, 'dh.q.0004', { version: 9 });
    await items().insert(item(accountId, 'new', { group: 0 }));
    await items().insert(item(accountId, 'other', { group: 2 }));
    await expect(items().insert(item(accountId, 'new', { group: 0 }))).rejects.toEqual(conflict);
    expect([await count(), await count({ group: 0 }), await count({ group: 1 })]).toEqual([1101, 1099, 1]);
    await items().deleteMany({ accountId, where: { group: 0 }, limit: 10 });
    expect([await count(), await count({ group: 0 }), await count({ group: 1 })]).toEqual([1091, 1089, 1]);
    expect(await items().deleteMany({ accountId, limit: 2000 })).toBe(1091);
    expect([await count(), await count({ group: 0 })]).toEqual([0, 0]);
  });

  it('reads summaries without the rest of the documents', async () => {
    const accountId = account();
    await items().insertMany(
      numbered(accountId, 3, (i) => ({ group: 'g', label: `L${i}`, ...(i === 1 ? { parent: 'p' } : {}) })),
    );
    expect(await items().findSummaries({ accountId, where: { group: 'g' }, offset: 1, limit: 5 })).toEqual([
      { id: 'dh.q.0001', label: 'L1', parent: 'p' },
      { id: 'dh.q.0002', label: 'L2', parent: null },
    ]);
    expect(await items().findSummaries({ accountId, descending: true, limit: 1 })).toEqual([
      { id: 'dh.q.0002', label: 'L2', parent: null },
    ]);
  });

  it('reads the newest of a history below a prefix, and trims the oldest', async () => {
    const accountId = account();
    const id = (of: string, n: number) => `${of}/${String(n).padStart(4, '0')}`;
    const history = (of: string) => Array.from({ length: 9 }, (_, n) => item(accountId, id(of, n)));
    await items().insertMany([...history('q'), ...history('q2'), item(accountId, 'q')]);
    const below = { accountId, idPrefix: 'q/', beforeId: id('q', 7), descending: true };
    const found = await items().findSummaries({ ...below, offset: 1, limit: 3 });
    expect(found.map((one) => one.id)).toEqual([id('q', 5), id('q', 4), id('q', 3)]);
    expect((await items().find({ ...below, offset: 6, limit: 3 })).map((one) => one.id)).toEqual([
      id('q', 0),
    ]);
    expect(await items().deleteMany({ accountId, idPrefix: 'q/', beforeId: id('q', 4), limit: 3 })).toBe(3);
    expect(await items().deleteMany({ accountId, idPrefix: 'q/', beforeId: id('q', 4), limit: 3 })).toBe(1);
    expect(await items().count({ accountId })).toBe(15);
    const [next] = await items().scan({ after: { accountId, id: id('q', 9999) }, limit: 1 });
    expect(next?.id).toBe(id('q2', 0));
  });

  it('finds a document by its unique value alone', async () => {
    const accountId = account();
    const doc = item(accountId, 'a');
    await items().insert(doc);
    expect(await items().getUnique('secret', doc.secret)).toMatchObject({ accountId, id: 'a' });
    expect(await items().getUnique('secret', doc.secret.toUpperCase())).toBeNull();
    expect(await items().getUnique('secret', { $ne: '' } as never)).toBeNull();
  });

  it('reads its own writes, and keeps ids and values that differ in case apart', async () => {
    const accountId = account();
    await items().insert(item(accountId, 'abc', { group: 'Group' }));
    await items().insert(item(accountId, 'ABC', { group: 'group' }));
    expect((await items().get(accountId, 'ABC'))?.group).toBe('group');
    expect(await items().get(accountId, 'Abc')).toBeNull();
    expect(await items().count({ accountId, where: { group: 'Group' } })).toBe(1);
  });
}
