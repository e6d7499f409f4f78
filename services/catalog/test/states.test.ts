import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { QueryDoc, SignatureDoc } from '../src/documents.ts';
import { readBroken, readStates } from '../src/signature.ts';
import { type CatalogStore, openCatalogStore } from '../src/store.ts';

let store: CatalogStore;
const hub = { accountId: 'a', hubId: 'h' };
const queriesOf = (count: number) => Array.from({ length: count }, (_, i) => ({ id: `q${i}` }) as QueryDoc);
const insert = (id: string, members: Partial<SignatureDoc>) =>
  store.signatures.insert({ id, ...hub, version: 1, number: 1, ...members } as SignatureDoc);

beforeEach(async () => {
  store = await openCatalogStore('sqlite::memory:');
});
afterEach(() => store.close());

it('a list reads the states of its page alone, however many columns have drifted', async () => {
  const driftJson = JSON.stringify('x'.repeat(1_048_576));
  for (let i = 0; i < 40; i++) await insert(`q${i}`, { state: 'drifted', driftJson });
  await insert('other', { hubId: 'o', state: 'drifted', driftJson });
  const get = vi.spyOn(store.signatures, 'get');
  const find = vi.spyOn(store.signatures, 'find');
  expect(await readStates({ store }, hub, queriesOf(1))).toMatchObject([{ state: 'drifted', driftJson }]);
  expect(await readStates({ store }, { ...hub, hubId: 'empty' }, queriesOf(2))).toEqual([
    undefined,
    undefined,
  ]);
  expect([get.mock.calls.length, find.mock.calls.length]).toEqual([1, 0]);
  await expect(readStates({ store }, hub, queriesOf(40))).rejects.toMatchObject({ code: 'TOO_LARGE' });
  expect(await readBroken({ store }, hub)).toEqual(new Map());
});

it('the broken queries of a hub are read without their signatures', async () => {
  const signatureJson = 'x'.repeat(1_048_576);
  for (let i = 0; i < 3; i++)
    await insert(`q${i}`, { state: 'broken', problemJson: `{"n":${i}}`, signatureJson });
  const broken = await readBroken({ store }, hub);
  expect([...broken.values()]).toEqual(
    [0, 1, 2].map((i) => ({ number: 1, state: 'broken', problemJson: `{"n":${i}}` })),
  );
});
