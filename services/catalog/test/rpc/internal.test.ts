import type { ResealedSource } from '@datahub/proto/catalog/v1/catalog_internal';
import { createCallContext } from '@datahub/service-kit/call/call';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import type { SourceDoc } from '../../src/documents.ts';
import { createInternalCalls, type InternalCalls } from '../../src/rpc/internal.ts';
import { type CatalogStore, openCatalogStore } from '../../src/store.ts';

const secret = (text: string) => ({ sealed: `old ${text}`, mask: `mask of ${text}` });

function makeSource(id: string, change: Partial<SourceDoc> = {}): SourceDoc {
  const shown = { hubId: 'h', parentNodeId: 'n', label: 's', createdAt: 1, updatedAt: null };
  const reached = { engine: 'postgres', host: 'db', port: 5432, database: 'd', pool: {} } as const;
  return {
    id,
    accountId: 'a',
    version: 3,
    ...shown,
    ...reached,
    user: secret('user'),
    password: secret('password'),
    tls: { mode: 'prefer' },
    statementTimeoutMs: null,
    settingsVersion: 2,
    ...change,
  };
}

const sealed = {
  ...{ user: 'new user', password: 'new password', tlsKey: 'new key' },
  ...{ sshPrivateKey: 'new ssh key', sshPassword: '' },
};
const resealed = (sourceId: string, change: Partial<ResealedSource> = {}): ResealedSource => ({
  accountId: 'a',
  sourceId,
  expectedVersion: 3,
  sealed,
  ...change,
});

describe('sealing again', () => {
  let store: CatalogStore;
  let calls: InternalCalls;

  const reseal = async ([first, ...more]: ResealedSource[]) => {
    const ctx = createCallContext({ timeoutMs: 60_000 });
    const { done, moreDone } = await calls.reseal({ ...(first as ResealedSource), more }, ctx);
    return [done, ...moreDone];
  };
  const stored = (id: string) => store.sources.get('a', id);

  beforeEach(async () => {
    store = await openCatalogStore('sqlite::memory:');
    calls = createInternalCalls({ store } as Catalog, { leaseMs: 1_000, queryRunsMax: 1_000 });
    for (const id of ['s1', 's2', 's3']) await store.sources.insert(makeSource(id));
  });
  afterEach(() => store.close());

  it('lists large sources in pages that a message can have', async () => {
    const ca = 'c'.repeat(65_536);
    const ids = Array.from({ length: 100 }, (_, i) => `t${String(i).padStart(3, '0')}`);
    for (const id of ids)
      await store.sources.insert(makeSource(id, { tls: { mode: 'prefer', ca, cert: ca } }));
    const listed: string[] = [];
    for (let afterSourceId = ''; ; ) {
      const ctx = createCallContext({ timeoutMs: 60_000 });
      const { sources } = await calls.listSealed({ afterSourceId, limit: 1_000 }, ctx);
      expect(sources.length).toBeLessThan(50);
      const last = sources.at(-1);
      if (last === undefined) break;
      listed.push(...sources.map(({ sourceId }) => sourceId));
      afterSourceId = `${last.accountId}/${last.sourceId}`;
    }
    expect(listed).toEqual(['s1', 's2', 's3', ...ids]);
  });

  it('changes the envelopes and the version of each source, and nothing else', async () => {
    const key = secret('key');
    const bastion = { host: 'b', port: 22, user: 'hub', hostKey: 'SHA256:x' };
    const change = { tls: { mode: 'require', ca: 'ca', key }, ssh: { ...bastion, privateKey: key } } as const;
    await store.sources.insert(makeSource('s4', change));
    expect(await reseal(['s1', 's2', 's4'].map((id) => resealed(id)))).toEqual([true, true, true]);
    const next = {
      version: 4,
      user: { ...secret('user'), sealed: sealed.user },
      password: { ...secret('password'), sealed: sealed.password },
    };
    expect(await stored('s1')).toEqual(makeSource('s1', next));
    expect(await stored('s2')).toEqual(makeSource('s2', next));
    expect(await stored('s3')).toEqual(makeSource('s3'));
    const tls = { mode: 'require', ca: 'ca', key: { ...key, sealed: sealed.tlsKey } } as const;
    const ssh = { ...bastion, privateKey: { ...key, sealed: sealed.sshPrivateKey } };
    expect(await stored('s4')).toEqual(makeSource('s4', { ...next, tls, ssh }));
  });

  it.each([0, 1, 2])(
    'leaves the one at place %i as it is where it cannot be, and does the rest',
    async (at) => {
      const left: Record<string, ResealedSource> = {
        'changed since it was read': resealed('s3', { expectedVersion: 2 }),
        'at a version it does not have yet': resealed('s3', { expectedVersion: 4 }),
        'of another account': resealed('s3', { accountId: 'b' }),
        'of no account': resealed('s3', { accountId: '' }),
        unknown: resealed('s9'),
        'named by what is no id': resealed('s 3'),
        'without envelopes': resealed('s3', { sealed: undefined }),
      };
      let expectedVersion = 3;
      for (const [why, one] of Object.entries(left)) {
        const others = ['s1', 's2'].map((id) => resealed(id, { expectedVersion }));
        const outcome = await reseal(others.toSpliced(at, 0, one));
        expect([why, ...outcome]).toEqual([why, ...[true, true].toSpliced(at, 0, false)]);
        expectedVersion++;
      }
      expect(await stored('s3')).toEqual(makeSource('s3'));
      expect([(await stored('s1'))?.version, (await stored('s2'))?.version]).toEqual([10, 10]);
    },
  );

  it('never undoes a change that is made at the same time, and of two alike stores one', async () => {
    const password = { sealed: 'of a new password', mask: 'm' };
    const lot = ['s1', 's1', 's2', 's3'].map((id) => resealed(id));
    const changed = makeSource('s2', { password, version: 4 });
    const [written, outcome] = await Promise.all([store.sources.replace(changed), reseal(lot)]);
    expect([written, ...outcome]).toEqual([true, true, false, false, true]);
    expect(await stored('s2')).toEqual(changed);
    expect((await stored('s1'))?.version).toBe(4);
  });

  it('takes a hundred at a time and no more', async () => {
    const many = Array.from({ length: 101 }, (_, i) => `m${i}`);
    await store.sources.insertMany(many.map((id) => makeSource(id)));
    await expect(reseal(many.map((id) => resealed(id)))).rejects.toMatchObject({ code: 'VALIDATION' });
    expect(await stored('m0')).toEqual(makeSource('m0'));
    expect(await reseal(many.slice(1).map((id) => resealed(id)))).toEqual(Array(100).fill(true));
  });
});

describe('the check of a source', () => {
  it('is taken once in its time, and again if the clock was set back by more', async () => {
    const store = await openCatalogStore('sqlite::memory:');
    let now = 100_000_000;
    const calls = createInternalCalls({ store, nowMs: () => now } as Catalog, {
      leaseMs: 1_000,
      queryRunsMax: 1_000,
    });
    await store.hubs.insert({ id: 'h', accountId: 'a', version: 1 } as never);
    await store.sources.insert(makeSource('s'));
    const principal = { accountId: 'a', keyId: '', scopes: [], limits: undefined };
    const take = async () => {
      const ctx = createCallContext({ timeoutMs: 60_000, principal });
      return (await calls.takeSourceCheck({ sourceId: 's', everyMs: 90_000 }, ctx)).taken;
    };
    expect(await take()).toBe(true);
    now += 89_999;
    expect(await take()).toBe(false);
    const ctx = createCallContext({ timeoutMs: 60_000, principal });
    const left = { taken: false, queryIds: [], takenAt: 100_000_000 };
    expect(await calls.takeSourceCheck({ sourceId: 's', everyMs: 90_000 }, ctx)).toEqual(left);
    now -= 86_400_000;
    expect(await take()).toBe(true);
    expect(await take()).toBe(false);
    await store.close();
  });
});
