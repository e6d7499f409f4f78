import { LoginGrant } from '@datahub/proto/catalog/v1/catalog_internal';
import { createCallContext } from '@datahub/service-kit/call/call';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import type { SourceDoc } from '../../src/documents.ts';
import { createLoginCalls, type LoginCalls } from '../../src/rpc/logins.ts';
import { type CatalogStore, openCatalogStore } from '../../src/store.ts';
import { principalOf } from '../catalog-fixture.ts';

const {
  LOGIN_GRANT_COUNTED: counted,
  LOGIN_GRANT_REFUSED: refused,
  LOGIN_GRANT_PROVEN: proven,
  LOGIN_GRANT_WAIT: wait,
} = LoginGrant;
const login = (user: string, address = 'db') => ({ login: `${user}@${address}`, address });

let store: CatalogStore;
let calls: LoginCalls;
let now: number;
/** The time goes on by this much with each reading. */
let step = 0;

beforeEach(async () => {
  now = 90_000;
  step = 0;
  store = await openCatalogStore('sqlite::memory:');
  const catalog = { store, nowMs: () => (now += step), namespace: 'dh' } as Catalog;
  calls = createLoginCalls(catalog);
  for (const id of ['old', 'new'])
    await store.sources.insert({ id, accountId: 'a', version: 1, hubId: 'h' } as SourceDoc);
  await store.hubs.insert({ id: 'h', accountId: 'a', version: 1 } as never);
});
afterEach(() => store.close());

const ctx = (accountId = 'a') => createCallContext({ timeoutMs: 60_000, principal: principalOf(accountId) });
const take = async (sourceId: string, target: ReturnType<typeof login>, accountId = 'a') =>
  calls.takeLogin({ sourceId, settingsVersion: '1', targets: [target] }, ctx(accountId));
const end = (sourceId: string, change: object, settingsVersion = '1') =>
  calls.endLogin(
    {
      sourceId,
      settingsVersion,
      minute: 1,
      returned: [],
      accepted: [],
      refused: false,
      failed: [],
      ...change,
    },
    ctx(),
  );

/** One attempt that fails, if it is granted. */
async function fail(sourceId: string, target: ReturnType<typeof login>): Promise<LoginGrant | undefined> {
  const [grant] = (await take(sourceId, target)).grants;
  if (grant === counted) await end(sourceId, { failed: [target] });
  return grant;
}

it('grants five failures of a user in a minute, whatever the source, and those of other accounts', async () => {
  const grants: (LoginGrant | undefined)[] = [];
  for (let i = 0; i < 7; i++) grants.push(await fail(i % 2 === 0 ? 'old' : 'new', login('u')));
  expect(grants).toEqual([counted, counted, counted, counted, counted, refused, refused]);
  expect(await take('old', login('u'))).toMatchObject({ grants: [refused], minute: 1, retryAfterMs: 30_000 });
  expect((await take('old', login('u'), 'b')).grants).toEqual([counted]);
  now = 120_000;
  expect((await take('old', login('u'))).grants).toEqual([counted]);
});

it('grants 20 failures of all users at an address', async () => {
  for (let i = 0; i < 20; i++) expect(await fail('old', login(`u${i}`))).toBe(counted);
  expect((await take('old', login('another'))).grants).toEqual([refused]);
  expect((await take('old', login('another', 'second'))).grants).toEqual([counted]);
});

it('asks to wait for attempts in progress, in whatever executor, until too many have failed', async () => {
  for (let i = 0; i < 5; i++) expect((await take('old', login('u'))).grants).toEqual([counted]);
  expect((await take('new', login('u'))).grants).toEqual([wait]);
  await end('old', { returned: [login('u')] });
  for (let i = 0; i < 3; i++) await end('old', { failed: [login('u')] });
  expect((await take('new', login('u'))).grants).toEqual([counted]);
  expect((await take('new', login('u'))).grants).toEqual([wait]);
  for (let i = 0; i < 2; i++) await end('old', { failed: [login('u')] });
  expect((await take('new', login('u'))).grants).toEqual([refused]);
});

it('does not count an attempt that is returned', async () => {
  for (let i = 0; i < 9; i++) {
    expect((await take('old', login('u'))).grants).toEqual([counted]);
    await end('old', { returned: [login('u')] });
  }
});

it('exempts settings that have logged in, at that address, with that version', async () => {
  await end('old', { accepted: [login('u')] });
  for (let i = 0; i < 5; i++) await fail('new', login('u'));
  expect((await take('new', login('u'))).grants).toEqual([refused]);
  expect((await take('old', login('u'))).grants).toEqual([proven]);
  expect((await take('old', login('u', 'second'))).grants).toEqual([counted]);
  const changed = { sourceId: 'old', settingsVersion: '2', targets: [login('u')] };
  expect((await calls.takeLogin(changed, ctx())).grants).toEqual([refused]);
});

it('counts the refusals of a source in the audit log', async () => {
  await end('old', { refused: true });
  await end('old', { refused: true });
  expect(await store.audit.find({ accountId: 'a', limit: 9 })).toMatchObject([
    { action: 'source.refuse', resourceId: 'old', count: 2, failed: 2, keyId: '' },
  ]);
});

it('counts refusals in the hour in which they are', async () => {
  [now, step] = [3_599_998, 1];
  await end('old', { refused: true });
  await end('old', { refused: true });
  const entries = await store.audit.find({ accountId: 'a', limit: 10 });
  expect(entries.map(({ at, count }) => [at, count])).toEqual([
    [0, 1],
    [3_600_000, 1],
  ]);
});
