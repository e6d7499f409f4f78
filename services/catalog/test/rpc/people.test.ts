import { createQuota } from '@datahub/document-store/quota';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { hashApiKey } from '@datahub/service-kit/api-key';
import { createCallContext } from '@datahub/service-kit/call/call';
import { createIdFactory } from '@datahub/service-kit/id';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import { createDeliveryPace } from '../../src/events/pace.ts';
import { createLeftovers } from '../../src/maintenance/leftovers.ts';
import { createOneByOne } from '../../src/one-by-one.ts';
import type { GrantDoc } from '../../src/people/documents.ts';
import { createAuditCalls } from '../../src/rpc/audit.ts';
import { createHubCalls } from '../../src/rpc/hubs.ts';
import { createKeyCalls } from '../../src/rpc/keys.ts';
import { createGrantCalls } from '../../src/rpc/people/grants.ts';
import { createPeopleCalls } from '../../src/rpc/people/people.ts';
import { createRefreshCalls } from '../../src/rpc/people/refreshes.ts';
import { createSignInCalls } from '../../src/rpc/people/sign-in.ts';
import { openCatalogStore } from '../../src/store.ts';
import { clockOf, principalOf } from '../catalog-fixture.ts';

const hour = 3_600_000;
const createId = createIdFactory({ namespace: 'dh' });
let catalog: Catalog;
let nowMs: number;
const hubIds: string[] = [];

const callsOf = (catalog: Catalog) => ({
  ...createKeyCalls(catalog),
  ...createPeopleCalls(catalog),
  ...createGrantCalls(catalog),
  ...createSignInCalls(catalog),
  ...createRefreshCalls(catalog),
  ...createHubCalls(catalog),
  ...createAuditCalls(catalog),
});
let calls: ReturnType<typeof callsOf>;

beforeEach(async () => {
  nowMs = 1_000_000_000;
  const store = await openCatalogStore('sqlite::memory:');
  const parts = {
    store,
    createId,
    nowMs: () => nowMs,
    namespace: 'dh',
    quota: createQuota(0),
    pace: createDeliveryPace(() => 0),
    eventClock: clockOf(() => nowMs),
  };
  catalog = { ...parts, leftovers: createLeftovers(() => {}), changes: { publish: async () => {} } } as never;
  calls = callsOf(catalog);
  await store.accounts.insert({ id: 'a', accountId: 'a', version: 1, name: 'first', createdAt: 1 });
  hubIds.length = 0;
  for (const label of ['A', 'B'])
    hubIds.push((await calls.createHub({ label }, operator())).hub?.hubId ?? '');
});
afterEach(() => catalog.store.close());

const ctx = (principal?: Principal) =>
  createCallContext({ timeoutMs: 60_000, ...(principal ? { principal } : {}) });
const operator = () => ctx({ ...principalOf('a'), keyId: 'operator' });

const grant = (kind: string, value: string, role: string, hubs: string[] = [], by = operator()) =>
  calls.createGrant({ who: { kind, value }, role, hubIds: hubs }, by);
const signIn = (subject = 'ada', more = {}) =>
  calls.signIn(
    {
      account: '',
      issuer: 'https://id.example',
      subject,
      name: 'Ada',
      groups: ['data'],
      confirmedUntil: new Date(nowMs + 12 * hour),
      ...more,
    },
    ctx(),
  );
const authenticate = async (secret: string) =>
  (await calls.authenticate({ keySha256: Buffer.from(hashApiKey(secret), 'hex') })).principal as Principal;
const acting = (principal: Principal, role = -1) => {
  const { scopes, limits } = principal.person?.grants.at(role) ?? principal;
  return ctx({ ...principal, scopes, limits });
};
const code = async (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (err) => err.code,
  );

describe('grants', () => {
  it('for an address are for it in any case, and not for one beyond ASCII', async () => {
    await grant('email', 'Book@Example.com', 'admin');
    expect((await signIn('a', { email: 'bOOK@example.COM', groups: [] })).secret).not.toBe('');
    // The Kelvin sign, of which the small letter is k.
    const other = signIn('b', { email: 'boo\u212a@example.com', groups: [] });
    await expect(other).rejects.toThrow('You have no role');
  });

  it('for a group count whatever comes after a thousand others, and for no longer name', async () => {
    const long = 'x'.repeat(500);
    await grant('group', long, 'viewer');
    expect(await code(signIn('a', { groups: [`${long}-and-more`] }))).toBe('SCOPE_DENIED');
    await grant('group', 'last', 'viewer');
    const groups = Array.from({ length: 1_000 }, (_, i) => `g${i}`).concat('last', 'half \ud83d');
    expect(await code(signIn('b', { groups, name: `a${'😀'.repeat(300)}` }))).toBe('ok');
    const { people } = await calls.listPeople({ offset: 0 }, operator());
    expect(people.map((person) => person.groups.length)).toEqual([0, 1_000]);
    const email = `${long}${long}@example.com`;
    expect(await code(signIn('c', { groups: [], email }))).toBe('SCOPE_DENIED');
  });

  it('are made once, and are gone when they are taken away', async () => {
    const hubs = hubIds.toReversed();
    const twin = createGrantCalls({ ...catalog, store: { ...catalog.store, oneByOne: createOneByOne() } });
    const [one, ...others] = await Promise.all([
      ...[1, 2].map(() => grant('group', 'data', 'viewer', hubIds)),
      twin.createGrant({ who: { kind: 'group', value: 'data' }, role: 'viewer', hubIds: hubs }, operator()),
    ]);
    expect(new Set(others.map((other) => other?.grant?.grantId))).toEqual(new Set([one?.grant?.grantId]));
    const { grants } = await calls.listGrants({ offset: 0 }, operator());
    expect(grants).toHaveLength(1);
    // An older release stored it twice.
    const [stored] = await catalog.store.grants.find({ accountId: 'a', limit: 1 });
    const { content: _, ...old } = stored as GrantDoc;
    await catalog.store.grants.insert({ ...old, id: createId('grnt', nowMs), hubIds: hubs });
    const { secret } = await signIn();
    await calls.deleteGrant({ grantId: one?.grant?.grantId as string, moreVersions: [] }, operator());
    expect(await code(authenticate(secret))).toBe('KEY_INVALID');
    for (const value of ['ada', ' ada@example.com', 'ada@example.com '])
      expect(await code(grant('email', value, 'viewer'))).toBe('VALIDATION');
  });

  it('name so many hubs together, because each call of a person looks through them', async () => {
    const named = Array.from({ length: 200 }, (_, i) => `dh.hub.${i}`);
    for (let i = 0; i < 100; i++) {
      const who = { kind: 'group' as const, value: `g${i}` };
      const doc = { id: createId('grnt', nowMs), accountId: 'a', version: 1, who, createdAt: 1 };
      await catalog.store.grants.insert({ ...doc, role: 'viewer', hubIds: named });
    }
    expect(await code(grant('group', 'data', 'viewer', [hubIds[0] as string]))).toBe('QUOTA_EXCEEDED');
    expect(await code(grant('group', 'data', 'viewer'))).toBe('ok');
  });
});

describe('the watches of a person', () => {
  it.each(['disabled', 'removed'])('pause at once when the person is %s', async (how) => {
    await grant('group', 'data', 'admin');
    const { secret, personId } = await signIn();
    const made = await calls.createKey({ name: 'k', scopes: ['*'] }, acting(await authenticate(secret)));
    const watch = { accountId: 'a', version: 1, hubId: hubIds[0], queryId: 'q', label: 'w' };
    const schedule = { schedule: { everyS: 3_600 }, when: 'always', to: [], createdAt: 1, updatedAt: 1 };
    // One from a session, and one that a key of the person wrote.
    for (const [id, keyId] of Object.entries({ w: personId, v: made.key?.keyId }))
      await catalog.store.watches.insert({ ...watch, ...schedule, id, keyId } as never);
    if (how === 'removed') await calls.deletePerson({ personId, moreVersions: [] }, operator());
    else await calls.updatePerson({ personId, disabled: true, moreVersions: [] }, operator());
    for (const id of ['w', 'v'])
      expect(await catalog.store.watches.get('a', id)).toMatchObject({ paused: 1 });
    const events = await catalog.store.events.find({ accountId: 'a', limit: 10 });
    expect(events.map(({ type }) => type)).toEqual(['watch.paused', 'watch.paused']);
  });
});

describe('people', () => {
  it('act by the roles of their groups, addresses and subjects, in the hubs of each', async () => {
    await grant('group', 'data', 'viewer');
    await grant('email', 'Ada@Example.com', 'editor', [hubIds[0] as string]);
    await grant('subject', 'ada', 'admin', [hubIds[1] as string]);
    const { secret, personId } = await signIn('ada', { email: 'ada@example.com' });
    const principal = await authenticate(secret);
    expect(principal.keyId).toBe(personId);
    expect(principal.person?.grants.map(({ limits }) => limits?.hubIds)).toEqual([
      [],
      [...hubIds].sort(),
      [hubIds[1]],
    ]);
    const { person, sessions } = await calls.getOwnPerson({}, ctx(principal));
    expect(person?.roles.map(({ role }) => role)).toEqual(['viewer', 'editor', 'admin']);
    expect(sessions).toHaveLength(1);
  });

  it('need a role, and are listed without one so that somebody can grant it', async () => {
    expect(await code(signIn())).toBe('SCOPE_DENIED');
    const { people } = await calls.listPeople({ offset: 0 }, operator());
    expect(people.map(({ name, roles }) => [name, roles])).toEqual([['Ada', []]]);
  });

  it('get no role by an address that the provider has not verified', async () => {
    await grant('email', 'ada@example.com', 'admin');
    expect(await code(signIn())).toBe('SCOPE_DENIED');
  });

  it('lose what a grant gave as soon as it is gone', async () => {
    const { grant: made } = await grant('group', 'data', 'viewer');
    const { secret } = await signIn();
    await authenticate(secret);
    await calls.deleteGrant({ grantId: made?.grantId ?? '', moreVersions: [] }, operator());
    expect(await code(authenticate(secret))).toBe('KEY_INVALID');
  });

  it('keep what rests on groups only while the provider’s word holds', async () => {
    await grant('group', 'data', 'admin');
    await grant('subject', 'ada', 'viewer');
    const { secret } = await signIn('ada', { confirmedUntil: new Date(nowMs + 1_000) });
    expect((await authenticate(secret)).scopes).toEqual(['*']);
    nowMs += 2_000;
    expect((await authenticate(secret)).scopes).not.toContain('*');
  });

  it('make keys that do no more than they themselves, end with them, and go on if the hub gets them', async () => {
    await grant('subject', 'ada', 'admin');
    const { secret, personId } = await signIn();
    const by = acting(await authenticate(secret));
    const create = (scopes: string[]) => calls.createKey({ name: 'k', scopes }, by);
    const [own, handed] = [await create(['queries:execute']), await create(['hubs:read'])];
    expect([own.key?.personId, own.key?.madeBy]).toEqual([personId, { keyId: personId, name: 'Ada' }]);
    const keyId = handed.key?.keyId ?? '';
    const handOver = { keyId, removedLimits: [], neverExpires: false, handOver: true };
    await calls.updateKey(handOver, operator());
    // A key made with a key of the person belongs to the person, too.
    const child = await create(['keys:admin']);
    const grandchild = await calls.createKey(
      { name: 'k', scopes: ['keys:read'] },
      acting(await authenticate(child.secret)),
    );
    expect(grandchild.key?.personId).toBe(personId);

    await grant('subject', 'ada', 'viewer', [hubIds[0] as string]);
    const { grants } = await calls.listGrants({ offset: 0 }, operator());
    const admin = grants.find(({ role }) => role === 'admin');
    await calls.deleteGrant({ grantId: admin?.grantId ?? '', moreVersions: [] }, operator());
    const narrowed = await authenticate(own.secret);
    expect([narrowed.scopes, narrowed.limits?.hubIds]).toEqual([['queries:execute'], [hubIds[0]]]);
    expect(await code(authenticate(child.secret))).toBe('KEY_INVALID');

    await calls.deletePerson({ personId, moreVersions: [] }, operator());
    expect(await code(authenticate(own.secret))).toBe('KEY_INVALID');
    expect(await code(authenticate(secret))).toBe('KEY_INVALID');
    expect((await authenticate(handed.secret)).person).toBeUndefined();
  });

  it('give nobody more than they have', async () => {
    await grant('subject', 'ada', 'admin', [hubIds[0] as string]);
    const by = acting(await authenticate((await signIn()).secret));
    expect(await code(grant('group', 'x', 'admin', [], by))).toBe('SCOPE_DENIED');
    expect(await code(grant('group', 'x', 'viewer', [hubIds[1] as string], by))).toBe('SCOPE_DENIED');
    expect(await code(grant('group', 'x', 'viewer', [hubIds[0] as string], by))).toBe('ok');
    expect(await code(calls.createKey({ name: 'k', scopes: ['*'] }, by))).toBe('SCOPE_DENIED');
    await grant('subject', 'root', 'admin');
    const { grants } = await calls.listGrants({ offset: 0 }, by);
    expect(grants.map(({ role }) => role).sort()).toEqual(['admin', 'viewer']);
    const root = await signIn('root');
    for (const call of [
      calls.updatePerson({ personId: root.personId, disabled: true, moreVersions: [] }, by),
      calls.listPeople({ offset: 0 }, by),
    ])
      expect(await code(call)).toBe('SCOPE_DENIED');
  });

  it('are asked for at the provider, one gateway at a time, and are out if it no longer knows them', async () => {
    await grant('subject', 'ada', 'admin');
    const refreshToken = Buffer.from('sealed');
    const at = new Date(nowMs + hour);
    const { secret } = await signIn('ada', { refreshToken, refreshAt: at });
    const key = await calls.createKey({ name: 'k', scopes: ['*'] }, acting(await authenticate(secret)));
    const take = async () => (await calls.takeRefreshes({ limit: 10 })).refreshes;
    expect(await take()).toEqual([]);
    nowMs += hour - 1;
    await authenticate(secret);
    nowMs += 1;
    const [[refresh], none] = [await take(), await take()];
    expect([refresh?.subject, none]).toEqual(['ada', []]);
    // A gateway that was lost leaves the person to another one.
    nowMs += 120_000;
    expect(await take()).toHaveLength(1);
    // An answer to a token before the last sign-in says nothing.
    const newer = await signIn('ada', { refreshToken: Buffer.from('newer'), refreshAt: new Date(nowMs) });
    await calls.endRefresh({ refresh, ended: true }, ctx());
    expect(await code(authenticate(newer.secret))).toBe('ok');
    const [last] = await take();
    await calls.endRefresh({ refresh: last, ended: true }, ctx());
    for (const one of [secret, newer.secret, key.secret])
      expect(await code(authenticate(one))).toBe('KEY_INVALID');
    expect(await take()).toEqual([]);
    const { entries } = await calls.listAudit({ page: undefined, action: 'person.signOut' }, operator());
    expect(entries).toHaveLength(1);
    await signIn('ada');
    expect(await code(authenticate(key.secret))).toBe('ok');
  });

  it('are asked for with the token that replaced a used one, whatever fails after that', async () => {
    await grant('subject', 'ada', 'viewer');
    const { secret } = await signIn('ada', { refreshToken: Buffer.from('one'), refreshAt: new Date(nowMs) });
    const take = async () => (await calls.takeRefreshes({ limit: 10 })).refreshes[0];
    const refresh = await take();
    const nextToken = Buffer.from('two');
    // The answer to the first call was lost.
    for (let i = 0; i < 2; i++) await calls.endRefresh({ refresh, ended: false, nextToken }, ctx());
    await calls.endRefresh({ refresh, ended: true }, ctx());
    expect(await code(authenticate(secret))).toBe('ok');
    expect(await take()).toBeUndefined();
    nowMs += 120_000;
    const again = await take();
    expect(again?.refreshToken).toEqual(nextToken);
    await calls.endRefresh({ refresh: again, ended: true }, ctx());
    expect(await code(authenticate(secret))).toBe('KEY_INVALID');
  });

  it('have keys whose state says so, and which end with them for good', async () => {
    await grant('subject', 'ada', 'admin');
    const { secret, personId } = await signIn();
    const made = await calls.createKey({ name: 'k', scopes: ['*'] }, acting(await authenticate(secret)));
    const keyId = made.key?.keyId as string;
    const stateNow = async () => (await calls.listKeys({ page: undefined }, operator())).keys[0]?.state;
    expect(await stateNow()).toBe('active');
    await calls.updatePerson({ personId, disabled: true, moreVersions: [] }, operator());
    expect(await stateNow()).toBe('paused');
    await calls.deletePerson({ personId, moreVersions: [] }, operator());
    expect(await stateNow()).toBe('ended');
    expect(
      await code(
        calls.updateKey({ keyId, removedLimits: [], neverExpires: false, handOver: true }, operator()),
      ),
    ).toBe('CONFLICT');
    expect(await code(calls.rotateKey({ keyId }, operator()))).toBe('CONFLICT');
    expect(await code(authenticate(made.secret))).toBe('KEY_INVALID');
    expect(await code(calls.revokeKey({ keyId }, operator()))).toBe('ok');
  });

  it('are out when an admin disables them', async () => {
    await grant('subject', 'ada', 'viewer');
    const { secret, personId } = await signIn();
    await calls.updatePerson({ personId, disabled: true, moreVersions: [] }, operator());
    expect(await code(authenticate(secret))).toBe('KEY_INVALID');
    expect(await code(signIn())).toBe('SCOPE_DENIED');
    const enable = () => calls.updatePerson({ personId, disabled: false, moreVersions: [] }, operator());
    expect(await enable()).toEqual(await enable());
    expect(await code(signIn())).toBe('ok');
  });
});

describe('a session', () => {
  beforeEach(() => grant('subject', 'ada', 'viewer'));

  it('ends after an hour without use, and after twelve hours', async () => {
    const idle = await signIn();
    nowMs += hour;
    expect(await code(authenticate(idle.secret))).toBe('KEY_EXPIRED');
    const used = await signIn();
    for (let minutes = 0; minutes < 12 * 60; minutes += 30) {
      await authenticate(used.secret);
      nowMs += hour / 2;
    }
    expect(await code(authenticate(used.secret))).toBe('KEY_EXPIRED');
    expect(await catalog.store.sessions.sweepExpired(nowMs, 10)).toBe(2);
  });

  it('ends by its key, by the provider’s session, by its subject, or all of a person at once', async () => {
    const provider = { account: '', issuer: 'https://id.example' };
    const [one, two] = [await signIn('ada', { providerSession: 's1' }), await signIn()];
    expect(await calls.endSignIns({ provider: { ...provider, providerSession: 's1' } }, ctx())).toEqual({
      ended: 1,
    });
    expect(await code(authenticate(one.secret))).toBe('KEY_INVALID');
    expect(await code(authenticate(two.secret))).toBe('ok');
    const other = { ...provider, issuer: 'https://other.example', subject: 'ada' };
    expect(await calls.endSignIns({ provider: other }, ctx())).toEqual({ ended: 0 });
    expect(await calls.endSignIns({ provider: { ...provider, subject: 'ada' } }, ctx())).toEqual({
      ended: 1,
    });
    const three = await signIn();
    // An old message, sent again, does not end what began after it.
    const old = { ...provider, subject: 'ada', begunBefore: new Date(nowMs) };
    expect(await calls.endSignIns({ provider: old }, ctx())).toEqual({ ended: 0 });
    const keySha256 = Buffer.from(hashApiKey(three.secret), 'hex');
    expect(await calls.endSignIns({ keySha256 }, ctx())).toEqual({ ended: 1 });
    await signIn();
    const last = await authenticate((await signIn()).secret);
    expect(await calls.endSessions({ agents: false }, ctx(last))).toEqual({ ended: 2, agentsEnded: 0 });
  });

  it('is in the audit with the name of the person, as is all that the person does', async () => {
    const { secret, personId } = await signIn();
    await grant('subject', 'ada', 'editor');
    const by = acting(await authenticate(secret));
    await calls.createHub({ label: 'C' }, by);
    const { entries } = await calls.listAudit({ page: undefined, personId }, operator());
    expect(entries.map(({ action, personName }) => [action, personName])).toEqual([
      ['hub.create', 'Ada'],
      ['person.signIn', 'Ada'],
    ]);
  });

  it('does not multiply without end', async () => {
    const first = await signIn();
    for (let i = 0; i < 20; i++) await signIn();
    expect(await code(authenticate(first.secret))).toBe('KEY_INVALID');
  });
});
