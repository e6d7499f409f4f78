import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Collection, CollectionSpec, Doc, DocumentStore } from './document-store.ts';
import { documentSizeMax } from './document-store.ts';

interface Item extends Doc {
  label?: string | null;
  group?: string | number | null;
  parent?: string;
  secret: string;
  hits?: number;
  blob?: Uint8Array;
  goneAt?: number | null;
  data?: unknown;
}

/** The collections that `createStore` is given. */
export const conformanceSpecs: CollectionSpec[] = [
  {
    name: 'items',
    indexes: ['group', 'parent'],
    unique: ['secret'],
    counters: ['hits'],
    bytes: ['blob'],
    summary: { by: 'group', fields: ['label', 'parent'] },
    expires: 'goneAt',
  },
];

/** What every adapter must do. `createStore` opens an empty store; it is opened once and closed at the end. */
export function describeDocumentStore(
  name: string,
  createStore: (specs: CollectionSpec[]) => Promise<DocumentStore>,
): void {
  describe(`document store on ${name}`, () => {
    let store: DocumentStore;
    let items: Collection<Item>;
    let accounts = 0;
    beforeAll(async () => {
      store = await createStore(conformanceSpecs);
      items = store.collection('items');
    });
    afterAll(async () => {
      await store.close();
      await store.close();
    });
    /** Each case has accounts of its own, so that no case sees another's documents. */
    const context: Context = {
      store: () => store,
      items: () => items,
      account: () => `dh.acct.${++accounts}`,
    };
    describeWrites(context);
    describeReads(context);
    describeValues(context);
    describeTenancy(context);
    describeUpkeep(context);
  });
}

interface Context {
  store(): DocumentStore;
  items(): Collection<Item>;
  account(): string;
}

function item(accountId: string, id: string, more: Partial<Item> = {}): Item {
  return { id, accountId, version: 1, secret: randomUUID(), ...more };
}

function numbered(accountId: string, count: number, more: (i: number) => Partial<Item> = () => ({})): Item[] {
  return Array.from({ length: count }, (_, i) =>
    item(accountId, `dh.q.${String(i).padStart(4, '0')}`, more(i)),
  );
}

const ids = (docs: { id: string }[]) => docs.map((doc) => Number(doc.id.slice(-4)));
const conflict = expect.objectContaining({ code: 'CONFLICT' });
const invalid = expect.objectContaining({ code: 'VALIDATION' });

function describeWrites({ items, account }: Context): void {
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

  it('deletes only while version and counter are as asked', async () => {
    const accountId = account();
    await items().insert(item(accountId, 'a', { hits: 1 }));
    expect(await items().delete(accountId, 'a', { version: 2 })).toBe(false);
    expect(await items().delete(accountId, 'a', { zero: 'hits' })).toBe(false);
    await items().add(accountId, 'a', 'hits', -1);
    expect(await items().delete(accountId, 'a', { version: 1, zero: 'hits' })).toBe(true);
    expect(await items().delete(accountId, 'a')).toBe(false);
    expect(await items().get(accountId, 'a')).toBeNull();
  });

  it('counts every addition of many writers, apart from the version', async () => {
    const accountId = account();
    await items().insert(item(accountId, 'a', { hits: 10 }));
    const values = await Promise.all(
      Array.from({ length: 20 }, () => items().add(accountId, 'a', 'hits', 2)),
    );
    expect([...values].sort((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 20 }, (_, i) => 12 + 2 * i),
    );
    expect(await items().replace(item(accountId, 'a', { version: 2, hits: 0 }))).toBe(true);
    expect((await items().get(accountId, 'a'))?.hits).toBe(50);
    expect(await items().add(accountId, 'missing', 'hits', 1)).toBeNull();
  });

  it('keeps a batch in order up to a conflict at most', async () => {
    const accountId = account();
    await items().insert(item(accountId, 'dh.q.0002'));
    await expect(items().insertMany(numbered(accountId, 4))).rejects.toEqual(conflict);
    const kept = ids(await items().find({ accountId, limit: 10 }));
    expect([[2], [0, 1, 2]]).toContainEqual(kept);
    expect(await items().count({ accountId })).toBe(kept.length);
  });
}

function describeReads({ items, account }: Context): void {
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

/** Any JSON value with well-formed text and no negative zero, with the keys that document databases trip over. */
const wild = fc.letrec((tie) => ({
  key: fc.oneof(
    fc.constantFrom('__proto__', 'constructor', '$eq', 'a.b', '', '\u0000', '_id', 'toString'),
    fc.string({ unit: 'binary', maxLength: 8 }),
  ),
  leaf: fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.boolean(),
    fc.constant(null),
    fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => (value === 0 ? 0 : value)),
    fc.constantFrom(9007199254740991, 1e300, 5e-324, 0.1),
  ),
  value: fc.oneof(
    { maxDepth: 3 },
    tie('leaf'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(tie('key') as fc.Arbitrary<string>, tie('value')), { maxLength: 4 })
      .map((pairs) => Object.fromEntries(pairs)),
  ),
})).value;

function describeValues({ items, account }: Context): void {
  it('gives back any JSON data exactly', async () => {
    const accountId = account();
    let n = 0;
    await fc.assert(
      fc.asyncProperty(wild, fc.string({ unit: 'binary' }), async (data, group) => {
        const id = `v${++n}`;
        await items().insert(item(accountId, id, { data, group }));
        const found = await items().find({ accountId, where: { group }, idPrefix: id, limit: 1 });
        expect(JSON.stringify(found[0]?.data)).toBe(JSON.stringify(data));
        expect(found[0]?.group).toBe(group);
      }),
      { numRuns: 100 },
    );
    expect(Object.prototype).not.toHaveProperty('polluted');
  });

  it('gives back bytes', async () => {
    const accountId = account();
    const blob = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251);
    await items().insert(item(accountId, 'a', { blob }));
    const kept = (await items().get(accountId, 'a'))?.blob;
    expect(kept?.constructor).toBe(Uint8Array);
    expect(Buffer.compare(kept ?? new Uint8Array(), blob)).toBe(0);
  });

  it('refuses what it could not give back, and keeps nothing of it', async () => {
    const accountId = account();
    const refused: [string, Partial<Item>][] = [
      ['lone surrogate', { data: ['\ud800'] }],
      ['lone surrogate in a key', { data: { '\udfff': 1 } }],
      ['not a number', { data: Number.NaN }],
      ['negative zero', { data: -0 }],
      ['a date', { data: new Date() }],
      ['a big integer', { data: 1n }],
      ['bytes in the body', { data: new Uint8Array(2) }],
      ['an object as indexed field', { group: { $ne: 1 } as never }],
      ['a unique field missing', { secret: undefined as never }],
      ['a version below one', { version: 0 }],
      ['an id with a space', { id: 'a b' }],
      ['an account with a slash', { accountId: 'a/b' }],
    ];
    for (const [name, more] of refused) {
      await expect(items().insert(item(accountId, 'a', more)), name).rejects.toEqual(invalid);
    }
    const blob = new Uint8Array(documentSizeMax);
    await expect(items().insert(item(accountId, 'a', { blob }))).rejects.toMatchObject({ code: 'TOO_LARGE' });
    expect(await items().count({ accountId })).toBe(0);
  });
}

function describeTenancy({ items, account }: Context): void {
  it('never reaches a document of another account', async () => {
    const [mine, theirs] = [account(), account()];
    await items().insert(item(theirs, 'a', { group: 'g', hits: 5 }));
    expect(await items().get(mine, 'a')).toBeNull();
    expect(await items().replace(item(mine, 'a', { version: 2 }))).toBe(false);
    expect(await items().delete(mine, 'a')).toBe(false);
    expect(await items().add(mine, 'a', 'hits', 1)).toBeNull();
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

function describeUpkeep({ store, items, account }: Context): void {
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

  it('is healthy, and knows only its own collections', async () => {
    await expect(store().health()).resolves.toBeUndefined();
    expect(() => store().collection('others')).toThrow(TypeError);
  });
}
