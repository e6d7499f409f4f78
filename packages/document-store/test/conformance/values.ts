import fc from 'fast-check';
import { expect, it } from 'vitest';
import { documentSizeMax } from '../../src/document-store.ts';
import type { Context, Item } from './cases.ts';
import { invalid, item } from './cases.ts';

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

export function describeValues({ items, account }: Context): void {
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
