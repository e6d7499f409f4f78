import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Context, Entry } from './cases.ts';
import { conflict, item } from './cases.ts';

export function describeCompanions({ store, items, account }: Context): void {
  const entries = () => store().collection<Entry>('entries');
  const companion = (accountId: string, text: string) => ({
    collection: 'entries',
    doc: { id: randomUUID(), accountId, version: 1, text },
  });
  const texts = async (accountId: string) =>
    (await entries().find({ accountId, limit: 100 })).map(({ text }) => text).sort();

  it('writes a document of another collection beside what is made, changed and deleted', async () => {
    const accountId = account();
    const made = item(accountId, 'a', { group: 'g' });
    await items().insert(made, companion(accountId, '1 made'));
    const changed = { ...made, version: 2 };
    expect(await items().replace(changed, companion(accountId, '2 changed'))).toBe(true);
    expect(await items().delete(accountId, 'a', { companion: companion(accountId, '3 deleted') })).toBe(true);
    expect(await texts(accountId)).toEqual(['1 made', '2 changed', '3 deleted']);
    expect(await items().get(accountId, 'a')).toBeNull();
    expect(await items().count({ accountId })).toBe(0);
    expect(await items().count({ accountId, where: { group: 'g' } })).toBe(0);
    await items().insert(made, companion(accountId, '4 made again'));
    expect(await items().getUnique('secret', made.secret)).toMatchObject({ id: 'a', version: 1 });
  });

  it('writes several beside one change, in their order, also of its own collection', async () => {
    const accountId = account();
    const made = item(accountId, 'a');
    await items().insert(made);
    const other = { collection: 'items', doc: item(accountId, 'b') };
    const next = { ...made, version: 2 };
    expect(await items().replace({ ...next, version: 3 }, [other, companion(accountId, 'stale')])).toBe(
      false,
    );
    expect(await items().get(accountId, 'b')).toBeNull();
    expect(await items().replace(next, [other, companion(accountId, 'both')])).toBe(true);
    expect(await items().get(accountId, 'b')).toMatchObject(other.doc);
    expect(await items().getUnique('secret', other.doc.secret)).toMatchObject({ id: 'b' });
    expect(await items().count({ accountId })).toBe(2);
    expect(await texts(accountId)).toEqual(['both']);
  });

  it('takes an empty list for nothing', async () => {
    const accountId = account();
    const made = item(accountId, 'a');
    await items().insert(made, []);
    expect(await items().replace({ ...made, version: 2 }, [])).toBe(true);
    expect(await items().delete(accountId, 'a', { companion: [] })).toBe(true);
    expect([await texts(accountId), await items().count({ accountId })]).toEqual([[], 0]);
  });

  it('writes nothing beside what was not done', async () => {
    const accountId = account();
    const made = item(accountId, 'a');
    await items().insert(made);
    await expect(items().insert(made, companion(accountId, 'twice'))).rejects.toEqual(conflict);
    expect(await items().replace({ ...made, version: 3 }, companion(accountId, 'stale'))).toBe(false);
    expect(
      await items().delete(accountId, 'a', { version: 2, companion: companion(accountId, 'stale') }),
    ).toBe(false);
    expect(await items().delete(accountId, 'b', { companion: companion(accountId, 'missing') })).toBe(false);
    expect(await items().delete(accountId, 'a')).toBe(true);
    expect(await texts(accountId)).toEqual([]);
  });

  it('writes beside each of many changes at once', async () => {
    const accountId = account();
    const increment = async (id: string, name: string): Promise<void> => {
      const doc = await items().get(accountId, id);
      if (doc === null) throw new Error('It is gone.');
      const next = { ...doc, version: doc.version + 1, data: Number(doc.data) + 1 };
      if (!(await items().replace(next, companion(accountId, `${id} ${name}`)))) await increment(id, name);
    };
    const names = Array.from({ length: 8 }, (_, i) => `change ${i}`);
    const all = ['a', 'b', 'c', 'd'];
    for (const id of all) await items().insert(item(accountId, id, { data: 0 }));
    await Promise.all(all.flatMap((id) => names.map((name) => increment(id, name))));
    for (const id of all) expect(await items().get(accountId, id)).toMatchObject({ version: 9, data: 8 });
    expect(await texts(accountId)).toEqual(all.flatMap((id) => names.map((name) => `${id} ${name}`)));
  });

  it('refuses what is not declared', async () => {
    const accountId = account();
    const other = { ...companion(accountId, 'x'), collection: 'nowhere' };
    await expect(items().insert(item(accountId, 'a'), other)).rejects.toThrow(TypeError);
    const entry = companion(accountId, 'x');
    await expect(entries().insert(entry.doc as Entry, companion(accountId, 'y'))).rejects.toThrow(TypeError);
    expect(await items().get(accountId, 'a')).toBeNull();
  });
}
