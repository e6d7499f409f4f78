import { afterEach, beforeEach, expect, it } from 'vitest';
import { hasRoom, trimOldest } from '../../src/events/kept-bytes.ts';
import { openCatalogWithHub } from '../catalog-fixture.ts';

let opened: Awaited<ReturnType<typeof openCatalogWithHub>>;
beforeEach(async () => {
  opened = await openCatalogWithHub();
});
afterEach(() => opened.store.close());

it('keeps the newest rows of the runs of an account within a bound of bytes', async () => {
  const { watchRunRows } = opened.store;
  const put = (accountId: string, id: string, size: number) =>
    watchRunRows.insert({
      id,
      accountId,
      version: 1,
      ndjson: Buffer.alloc(size, 'x'),
      size,
      expiresAt: 1e15,
    });
  for (const id of ['1', '2', '3', '4']) await put('a', id, 10_000);
  // Small ones count as what a document takes.
  await put('a', '5', 10);
  await put('b', '1', 10_000);
  const left = async (accountId: string) =>
    (await watchRunRows.findSummaries({ accountId, limit: 10 })).map(({ id }) => id);
  await trimOldest(watchRunRows, 'a', 100_000);
  expect(await left('a')).toEqual(['1', '2', '3', '4', '5']);
  await trimOldest(watchRunRows, 'a', 21_100);
  expect(await left('a')).toEqual(['3', '4', '5']);
  expect(await left('b')).toEqual(['1']);
  await trimOldest(watchRunRows, 'a', 21_000);
  expect(await left('a')).toEqual(['4', '5']);
});

it('has room for the rows of a watch beside those of the account’s other watches', async () => {
  const { watchSnapshots } = opened.store;
  const put = (accountId: string, id: string) =>
    watchSnapshots.insert({
      ...{ id, accountId, version: 1, rows: Buffer.alloc(0), ndjson: Buffer.alloc(100_000, 'x') },
      size: 100_000,
    });
  for (const id of ['v/1', 'w/1', 'w/2']) await put('a', id);
  await put('b', 'w/3');
  const room = (accountId: string, bytes: number, bytesMax: number) =>
    hasRoom(watchSnapshots, { accountId, ownPrefix: 'w/', bytes }, bytesMax);
  expect(await room('a', 100_000, 200_000)).toBe(true);
  expect(await room('a', 100_001, 200_000)).toBe(false);
  expect(await room('b', 200_000, 200_000)).toBe(true);
});
