import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Doc, openDocumentStore } from '@datahub/document-store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  logLargestAccountsIfFull,
  removeExpired,
  startExpirySweep,
} from '../../src/maintenance/expiry-sweep.ts';
import { type CatalogStore, openCatalogStore } from '../../src/store.ts';
import { hourMs } from '../../src/usage/use-counts.ts';

const dayMs = 86_400_000;
const now = 400 * dayMs;
const open = new AbortController().signal;
const entry = (id: string, at: number) => ({
  id,
  accountId: 'a',
  version: 1,
  at,
  keyId: 'k',
  action: 'hub.create',
  resourceId: 'h',
  requestId: 'r',
  count: 1,
  failed: 0,
});

describe('the audit', () => {
  let dir: string;
  let url: string;
  let store: CatalogStore;
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'catalog-upkeep-'));
    url = `sqlite:${join(dir, 'catalog.db')}`;
    store = await openCatalogStore(url);
  });
  afterEach(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  const sweep = (days: number, closed = open) =>
    removeExpired(
      store,
      {
        ...{
          nowMs: () => now,
          namespace: 'hub',
          runsKeptMs: dayMs,
          eventsKeptMs: dayMs,
          queryRunsKeptMs: 1_000_000_000,
        },
        ...{ auditKeptMs: days * dayMs, usageKeptMs: days * dayMs },
      },
      closed,
    );
  const kept = async () => (await store.audit.find({ accountId: 'a', limit: 100 })).map(({ id }) => id);

  it('is kept as long as is set now, whatever was set when it was written', async () => {
    const ages = { e1: 200, e2: 91, e3: 90, e4: 30, e5: 0 };
    for (const [id, days] of Object.entries(ages)) await store.audit.insert(entry(id, now - days * dayMs));
    await sweep(365);
    expect(await kept()).toEqual(['e1', 'e2', 'e3', 'e4', 'e5']);
    await sweep(90);
    expect(await kept()).toEqual(['e3', 'e4', 'e5']);
    await sweep(7);
    expect(await kept()).toEqual(['e5']);
  });

  it('keeps what is counted until its hour has had its time', async () => {
    await store.audit.insert(entry('e1', now - dayMs - hourMs + 1));
    await store.audit.insert(entry('e2', now - dayMs - hourMs));
    await sweep(1);
    expect(await kept()).toEqual(['e1']);
  });

  it('loses what is too old also if it has an expiry of its own', async () => {
    await store.close();
    const before = await openDocumentStore(url, [
      { name: 'audit', indexes: ['resourceId', 'keyId', 'action'], expires: 'expiresAt' },
    ]);
    const old = { ...entry('e1', now - 30 * dayMs), expiresAt: now + 60 * dayMs };
    await before.collection<Doc>('audit').insert(old);
    await before.close();
    store = await openCatalogStore(url);
    await sweep(31);
    expect(await kept()).toEqual(['e1']);
    await sweep(7);
    expect(await kept()).toEqual([]);
  });

  it('is removed in parts, until it is done or the hub stops', async () => {
    const many = Array.from({ length: 250 }, (_, i) => entry(`e${i}`, 0));
    await store.audit.insertMany(many);
    await sweep(1, AbortSignal.abort());
    expect(await store.audit.count({ accountId: 'a' })).toBe(250);
    await sweep(1);
    expect(await store.audit.count({ accountId: 'a' })).toBe(0);
  });
});

it('removes what has expired before it joins counts, which can take hours', async () => {
  const done: string[] = [];
  const { promise: joining, resolve: joins } = Promise.withResolvers<void>();
  const collectionOf = (name: string) => ({
    sweepExpired: async () => {
      done.push(name);
      return 0;
    },
    findDue: async (_now: number, max: number) => {
      done.push('join');
      joins();
      return { found: Array.from({ length: max }, () => ({})), isAll: false };
    },
    insert: async () => {},
  });
  const store = new Proxy({} as Record<string, unknown>, {
    get: (_, name: string) =>
      ['health', 'settle', 'shrink'].includes(name) ? async () => 0 : collectionOf(name),
  });
  const sweep = startExpirySweep(store as never, {
    ...{ nowMs: () => now, namespace: 'dh', auditKeptMs: 0, usageKeptMs: 0 },
    ...{ runsKeptMs: 0, queryRunsKeptMs: 0, eventsKeptMs: 0 },
    logger: { warn: () => {}, error: () => {} } as never,
    leftovers: { retry: async () => {} } as never,
    sweepSeldom: async () => void done.push('seldom'),
  });
  await joining;
  await sweep.close();
  expect(done.indexOf('join')).toBe(done.length - 1);
  expect(done).toEqual(expect.arrayContaining(['operations', 'events', 'seldom']));
});

it('counts the rows and events that watches keep among what fills the store', async () => {
  const store = await openCatalogStore('sqlite::memory:');
  for (const id of ['watcher', 'other'])
    await store.accounts.insert({ id, accountId: id, version: 1, name: id, createdAt: 1 });
  const insert = (name: 'watchSnapshots' | 'watchRunRows' | 'events', accountId: string, size: number) =>
    store[name].insert({ id: 'one', accountId, version: 1, size } as never);
  await insert('watchSnapshots', 'watcher', 3_000_000);
  await insert('watchRunRows', 'watcher', 2_000_000);
  await insert('events', 'other', 4_000_000);
  const full = Object.assign(new Error('database or disk is full'), { errcode: 13 });
  const health = () => Promise.reject(new Error('full', { cause: full }));
  const told: object[] = [];
  const logger = { error: (line: object) => void told.push(line) } as never;
  await logLargestAccountsIfFull({ ...store, health }, { logger }, open);
  const accounts = [
    { accountId: 'watcher', bytes: 5_000_000 },
    { accountId: 'other', bytes: 4_000_000 },
  ];
  expect(told).toEqual([{ event: 'store.full', accounts }]);
  await store.close();
});
