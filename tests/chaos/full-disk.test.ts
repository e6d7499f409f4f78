import { readdirSync } from 'node:fs';
import type { OperationDoc } from '@datahub/catalog/documents';
import { logLargestAccountsIfFull } from '@datahub/catalog/maintenance/expiry-sweep';
import { openCatalogStore } from '@datahub/catalog/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';
import { hasSmallDisks, openSmallDisk, type SmallDisk } from './support/small-disk.ts';

const rounds = 30;

describe.skipIf(!hasSmallDisks)('a hub whose disk is full (needs root, to mount a small one)', () => {
  let disk: SmallDisk;
  let hub: SpawnedHub;
  beforeEach(async () => {
    disk = openSmallDisk(8);
    hub = await spawnHub({ DATAHUB_DATA_DIR: disk.path });
  });
  afterEach(async () => {
    await hub.close();
    disk.close();
  });

  async function listed(path: string): Promise<any[]> {
    const found: any[] = [];
    for (;;) {
      const page = await hub.api.ok(hub.api.get(`${path}offset=${found.length}&limit=20`));
      if (page.length === 0) return found;
      found.push(...page);
    }
  }
  const audited = async (action: string) =>
    (await listed(`/v1/audit?action=${action}&`)).map(({ resourceId }) => resourceId as string);

  it('makes nothing that it refuses to have made, and nothing without its entry in the audit', async () => {
    const { api } = hub;
    const made: string[] = [];
    let refused = 0;
    for (let round = 0; round < rounds; round++) {
      // Room for a few commits, and for a part of the next one.
      disk.fill(round);
      for (let i = 0; i < 12; i++) {
        const { status, body } = await api.post('/v1/hubs', { label: `hub ${round} ${i}` });
        if (status === 200) {
          made.push(body.hubId);
          continue;
        }
        expect([status, body.code, body.retryable]).toEqual([503, 'UNAVAILABLE', true]);
        refused++;
      }
      disk.free();
      await api.ok(api.post('/v1/classifiers', { name: 'room again' }));
    }
    console.log(`${refused} refused, ${made.length} made`);
    expect(refused).toBeGreaterThan(rounds);
    expect(made.length).toBeGreaterThan(10);
    const hubs = (await listed('/v1/hubs?')).map(({ hubId }) => hubId);
    expect(hubs.sort()).toEqual(made.sort());
    expect((await audited('hub.create')).sort()).toEqual(made);
  });

  it('starts again, reads, and changes things once there is room', async () => {
    const { key: DATAHUB_API_KEY, api } = hub;
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'before' }));
    disk.fill();
    await hub.close();
    hub = await spawnHub({ DATAHUB_DATA_DIR: disk.path, DATAHUB_API_KEY });
    expect((await hub.api.get(`/v1/hubs/${hubId}`)).status).toBe(200);
    // The start has emptied the log.
    disk.fill();
    expect((await hub.api.post('/v1/hubs', { label: 'full' })).body).toMatchObject({
      code: 'UNAVAILABLE',
      retryable: true,
    });
    disk.free();
    expect((await hub.api.post('/v1/hubs', { label: 'after' })).status).toBe(200);
  });

  it('revokes keys, stays ready for executions, and recovers as soon as there is space', async () => {
    const { api } = hub;
    const revoked: string[] = [];
    for (let i = 0; i < 20; i++)
      revoked.push((await api.ok(api.post('/v1/keys', { name: `key ${i}` }))).keyId);
    const [keyId] = revoked as [string];
    // Each failed commit empties its log, and so frees space once.
    const refused = async (path: string, body: object) => {
      for (;;) {
        disk.fill();
        if ((await api.post(path, body)).status === 503) return;
      }
    };
    await refused('/v1/hubs', { label: 'full' });
    await refused('/v1/classifiers', { name: 'full' });
    disk.fill();
    // The executor works, so the hub is ready although both stores are full.
    expect(await api.get('/readyz')).toMatchObject({ status: 200, body: { missing: ['catalog', 'ml'] } });
    for (const id of revoked) {
      expect((await api.delete(`/v1/keys/${id}`)).status).toBe(200);
      disk.fill();
    }
    expect((await api.delete(`/v1/keys/${keyId}`)).status).toBe(404);
    expect((await audited('key.revoke')).sort()).toEqual(revoked.sort());
    expect((await api.post('/v1/hubs', { label: 'full' })).status).toBe(503);
    disk.free();
    expect((await api.get('/readyz')).body).toEqual({ status: 'ready' });
    expect((await api.post('/v1/hubs', { label: 'after' })).status).toBe(200);
  });

  it('leaves no partial key file if the disk was full at the first start', async () => {
    const other = openSmallDisk(8);
    try {
      other.fill();
      await expect(spawnHub({ DATAHUB_DATA_DIR: other.path })).rejects.toThrow('did not start');
      expect(readdirSync(other.path).filter((name) => name.startsWith('sealing-keys'))).toEqual([]);
      other.free();
      const started = await spawnHub({ DATAHUB_DATA_DIR: other.path });
      await started.close();
    } finally {
      other.close();
    }
  });
});

it.skipIf(!hasSmallDisks)('a full store is reported with the accounts that use the most of it', async () => {
  const disk = openSmallDisk(16);
  const store = await openCatalogStore(`sqlite:${disk.path}/catalog.db`);
  const told: object[] = [];
  const logger = { error: (line: object) => told.push(line) } as never;
  const tell = () => logLargestAccountsIfFull(store, { logger }, new AbortController().signal);
  const keep = (accountId: string, n: number) =>
    store.operations.insert({
      id: `o${n}`,
      accountId,
      version: 1,
      answer: Buffer.alloc(20_000),
    } as unknown as OperationDoc);
  try {
    for (let n = 0; n < 200; n++) await keep(n % 4 === 0 ? 'small' : 'large', n);
    await tell();
    expect(told).toEqual([]);
    disk.fill();
    await expect(keep('small', 200)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    // The log that was emptied gave back its room.
    disk.fill();
    await expect(keep('small', 201)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await tell();
    expect(told).toEqual([
      {
        event: 'store.full',
        accounts: [
          { accountId: 'large', bytes: expect.closeTo(150 * 20_050, -5) },
          { accountId: 'small', bytes: expect.closeTo(50 * 20_050, -5) },
        ],
      },
    ]);
  } finally {
    await store.close();
    disk.close();
  }
});
