import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { QueryDoc } from '../src/documents.ts';
import { listNamed, listPage } from '../src/pagination.ts';
import { type CatalogStore, openCatalogStore } from '../src/store.ts';

const idOf = (i: number) => `q.${String(i).padStart(5, '0')}`;

describe('a list', () => {
  let store: CatalogStore;
  const insert = (i: number, members: Partial<QueryDoc>) =>
    store.queries.insert({ id: idOf(i), accountId: 'a', version: 1, hubId: 'h', ...members } as QueryDoc);
  const fill = (count: number, query: string) =>
    Promise.all(Array.from({ length: count }, (_, i) => insert(i, { query })));
  const list = async (page?: { offset: number; limit?: number }, descending = false) => {
    const { docs, total } = await listPage(store.queries, { accountId: 'a', descending }, page);
    return { ids: docs.map(({ id }) => id), total };
  };
  const ids = (from: number, count: number) => Array.from({ length: count }, (_, i) => idOf(from + i));

  beforeEach(async () => {
    store = await openCatalogStore('sqlite::memory:');
  });
  afterEach(() => store.close());

  it('is whole and in order, however it is read', async () => {
    await fill(450, 'SELECT 1');
    const all = ids(0, 450);
    expect(await list()).toEqual({ ids: all, total: 450 });
    expect(await list({ offset: 0 }, true)).toEqual({ ids: all.toReversed(), total: 450 });
    expect(await list({ offset: 10, limit: 401 })).toEqual({ ids: ids(10, 401), total: 450 });
    expect(await list({ offset: 440, limit: 200 })).toEqual({ ids: ids(440, 10), total: 450 });
    expect(await list({ offset: 5, limit: 300 }, true)).toEqual({
      ids: all.toReversed().slice(5, 305),
      total: 450,
    });
    expect(await list({ offset: 0, limit: 0 })).toEqual({ ids: [], total: 450 });
    expect(await list({ offset: 450 })).toEqual({ ids: [], total: 450 });
  });

  it('counts values beside characters, because each takes memory of its own', async () => {
    const notNull = Array.from({ length: 200 }, () => 'a');
    await Promise.all(Array.from({ length: 9_990 }, (_, i) => insert(i, { notNull })));
    await expect(list()).rejects.toMatchObject({ code: 'TOO_LARGE' });
  });

  it('is answered in parts if it is very large', async () => {
    await fill(140, 'x'.repeat(262_144));
    await expect(list()).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message: 'The list is larger than 32 MiB. Request a part of it with limit and offset.',
    });
    expect(await list({ offset: 40 })).toEqual({ ids: ids(40, 100), total: 140 });
    const named = (page?: { offset: number; limit?: number }) =>
      listNamed(store.queries, { accountId: 'a', ids: ids(0, 140).toReversed(), isListed }, page);
    const isListed = ({ id }: QueryDoc) => id !== idOf(1);
    await expect(named()).rejects.toMatchObject({ code: 'TOO_LARGE' });
    const { docs, total } = await named({ offset: 0, limit: 9 });
    expect(docs.map(({ id }) => id)).toEqual([idOf(0), ...ids(2, 8)]);
    expect(total).toBe(139);
  });
});
