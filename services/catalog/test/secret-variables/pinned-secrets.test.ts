import { withheldValue } from '@datahub/contract/key-limits';
import type { KeyLimits } from '@datahub/proto/common/v1/principal';
import { createCallContext } from '@datahub/service-kit/call/call';
import { expect, it } from 'vitest';
import type { KeyDoc, SourceDoc } from '../../src/documents.ts';
import { createKeyCalls } from '../../src/rpc/keys.ts';
import { openCatalogWithHub, principalOf } from '../catalog-fixture.ts';

const none = { hubIds: [], queryIds: [], classifierIds: [], queries: [], origins: [], contextJson: '' };
const pins = { contextJson: '{"token":"s3cret","tenant":1.50}' };
const masked = `{"token":"${withheldValue}","tenant":1.50}`;

async function open() {
  const { catalog, store, hub, ctx: asUser, ...rest } = await openCatalogWithHub();
  const keys = createKeyCalls(catalog);
  const as = (keyId: string) =>
    createCallContext({ timeoutMs: 60_000, principal: { ...principalOf('a'), keyId } });
  const ctx = () => as('operator');
  const create = async (limits: Partial<KeyLimits> = pins, by = ctx()) => {
    const wanted = { name: 'k', scopes: ['*'], limits: { ...none, ...limits } };
    return (await keys.createKey(wanted, by)).key;
  };
  const idOf = async (limits?: Partial<KeyLimits>) => (await create(limits))?.keyId as string;
  const shown = async (id: string) =>
    (await keys.listKeys({}, ctx())).keys.find(({ keyId }) => keyId === id)?.limits?.contextJson;
  const stored = async (id: string) => (await store.keys.get('a', id)) as KeyDoc;
  const update = (keyId: string, limits: Partial<KeyLimits>) =>
    keys.updateKey({ keyId, limits: { ...none, ...limits }, removedLimits: [], neverExpires: false }, ctx());
  const query = async (isSecret: boolean, path?: string, hubId = hub.id) => {
    const context = { variables: [{ key: 'token', ...(isSecret ? { secret: true } : {}) }] };
    const sourceId = hubId === hub.id ? 's' : `s-of-${hubId}`;
    const wanted = { hubId, label: 'q', sourceId, query: 'SELECT 1', notNull: [], context, path };
    return (await rest.calls.createQuery(wanted, asUser())).query?.queryId as string;
  };
  const change = (queryId: string, isSecret: boolean, path?: string) => {
    const context = { variables: [{ key: 'token', ...(isSecret ? { secret: true } : {}) }] };
    return rest.calls.updateQuery({ queryId, context, path, moreVersions: [] }, asUser());
  };
  return {
    ...rest,
    ...{ catalog, store, hub, keys, as, ctx, create, idOf, shown, stored, update, query, change },
  };
}

it('are in no answer, and count', async () => {
  const { keys, ctx, create, shown, stored, update, query } = await open();
  await query(true);
  const made = await create();
  const keyId = made?.keyId as string;
  expect([made?.limits?.contextJson, await shown(keyId)]).toEqual([masked, masked]);
  expect((await stored(keyId)).limits).toMatchObject(pins);
  const { principal } = await keys.resolveKey({ keyId }, ctx());
  expect(principal?.limits).toMatchObject(pins);
  // What was shown can be sent back, with a change beside it.
  const { key } = await update(keyId, { contextJson: masked.replace('1.50', '2.0') });
  expect(key?.limits?.contextJson).toBe(masked.replace('1.50', '2.0'));
  expect((await stored(keyId)).limits.contextJson).toBe('{"token":"s3cret","tenant":2.0}');
  const rotated = (await keys.rotateKey({ keyId }, ctx())).key;
  expect(rotated?.limits?.contextJson).toBe(masked.replace('1.50', '2.0'));
  expect((await stored(rotated?.keyId as string)).limits.contextJson).toContain('s3cret');
});

it('are those of queries that the key reaches, when it is made or later', async () => {
  const { hub, idOf, shown, update, query, change } = await open();
  const other = await query(false, 'a/b');
  const ofQuery = await idOf({ ...pins, queryIds: [other] });
  const ofName = await idOf({ ...pins, queries: ['shop/a/b'] });
  const ofHub = await idOf({ ...pins, hubIds: [hub.id] });
  const secret = await query(true);
  const whole = await idOf();
  const contexts = () => Promise.all([ofQuery, ofName, ofHub, whole].map(shown));
  expect(await contexts()).toEqual([pins.contextJson, pins.contextJson, masked, masked]);
  // A key that reaches more hides more.
  await update(ofQuery, { queryIds: [other, secret] });
  expect(await shown(ofQuery)).toBe(masked);
  await change(other, false, 'c');
  await change(secret, true, 'a/b');
  expect(await shown(ofName)).toBe(masked);
});

it('are not those of a query with the same path in another hub, until that hub gets the path of the name', async () => {
  const { store, hub, calls, ctx, idOf, shown, query } = await open();
  await query(true, 'a/b');
  const keyId = await idOf({ ...pins, queries: ['shop/a/b'] });
  expect(await shown(keyId)).toBe(masked);
  const production = (await calls.createHub({ label: 'p', path: 'production' }, ctx())).hub?.hubId as string;
  const source = (await store.sources.get('a', 's')) as SourceDoc;
  await store.sources.insert({ ...source, id: `s-of-${production}`, hubId: production });
  await query(false, 'a/b', production);
  const other = await idOf({ ...pins, queries: ['production/a/b'] });
  const moreVersions: number[] = [];
  await calls.updateHub({ hubId: production, path: 'before', moreVersions }, ctx());
  expect(await shown(other)).toBe(pins.contextJson);
  await calls.updateHub({ hubId: hub.id, path: 'production', moreVersions }, ctx());
  expect(await shown(other)).toBe(masked);
});

it('stay hidden if the variable is secret no more, until another value is pinned', async () => {
  const { idOf, shown, update, query, change } = await open();
  const queryId = await query(false);
  const keyId = await idOf();
  expect(await shown(keyId)).toBe(pins.contextJson);
  await change(queryId, true);
  expect(await shown(keyId)).toBe(masked);
  await change(queryId, false);
  await update(keyId, { contextJson: masked });
  expect(await shown(keyId)).toBe(masked);
  await update(keyId, { contextJson: '{"token":"other"}' });
  expect(await shown(keyId)).toBe('{"token":"other"}');
});

it('can be given to another key by the key that pins them, without knowing them', async () => {
  const { create, idOf, stored, as, update, query } = await open();
  await query(true);
  const keyId = await idOf();
  const child = await create({ contextJson: masked }, as(keyId));
  expect(child?.limits?.contextJson).toBe(masked);
  expect((await stored(child?.keyId as string)).limits).toMatchObject(pins);
  const refused = { code: 'VALIDATION', errors: [{ path: ['limits', 'context', 'token'] }] };
  await expect(create({ contextJson: masked })).rejects.toMatchObject(refused);
  const plain = await idOf({});
  await expect(update(plain, { contextJson: masked })).rejects.toMatchObject(refused);
});

it('of a key that an older hub made are found when it is shown first', async () => {
  const { store, idOf, shown, stored, query, change } = await open();
  const queryId = await query(false);
  const [first, second] = [await idOf(), await idOf()];
  for (const id of [first, second]) {
    const { secretPins: _, ...older } = await stored(id);
    await store.keys.replace({ ...older, version: older.version + 1 });
  }
  expect(await shown(first)).toBe(pins.contextJson);
  const { secretPins: _, ...older } = await stored(first);
  await store.keys.replace({ ...older, version: older.version + 1 });
  await change(queryId, true);
  expect([await shown(first), await shown(second)]).toEqual([masked, masked]);
});
