/** Keys whose hub is killed while they are rotated: their owner is never left without one that works. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { afterAll, describe, expect, it } from 'vitest';
import { createRandom } from '../support/random.ts';
import { scaled } from '../support/scale.ts';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

const kills = scaled(2, 10);
const owners = 6;
/** The hub is killed at some time after the first rotation of a round. */
const killWithinMs = 200;
const random = createRandom(1);
const { MONGODB_URL } = process.env;
const name = `rotation_${randomBytes(4).toString('hex')}`;

interface Held {
  keyId: string;
  key: string;
}

const stores: [string, Record<string, string>][] = [['SQLite', {}]];
if (MONGODB_URL !== undefined)
  stores.push(['MongoDB', { DATAHUB_STORE_URL: new URL(name, MONGODB_URL).href }]);

describe.each(stores)('keys over %s', (_, store) => {
  let hub: SpawnedHub | undefined;
  let dataDir: string | undefined;
  afterAll(async () => {
    await hub?.close();
    if (dataDir !== undefined) await rm(dataDir, { recursive: true, force: true });
    if (store.DATAHUB_STORE_URL === undefined) return;
    const client = await new MongoClient(store.DATAHUB_STORE_URL).connect();
    await client.db().dropDatabase();
    await client.close();
  });

  it('that are rotated while the hub is killed: the old one or the new one works', async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'datahub-rotation-'));
    const settings = {
      ...store,
      DATAHUB_DATA_DIR: dataDir,
      DATAHUB_API_KEY: `test-key-${randomBytes(24).toString('hex')}`,
      DATAHUB_RATE_PER_MINUTE: '0',
    };
    hub = await spawnHub(settings);
    const { api } = hub;
    const held: Held[] = [];
    for (let i = 0; i < owners; i++)
      held.push(await api.ok(api.post('/v1/keys', { name: `of ${i}`, scopes: ['keys:admin'] })));
    let rotated = 0;
    for (let kill = 0; kill < kills; kill++) {
      const { api: running, close } = hub;
      const before = rotated;
      let isKilled = false;
      const rotating = held.map(async (_, i) => {
        while (!isKilled) {
          const { keyId, key } = held[i] as Held;
          const answer = await running.post(`/v1/keys/${keyId}/rotate`, {}, { key }).catch(() => null);
          if (answer === null) return;
          expect(answer.status, answer.text).toBe(200);
          held[i] = answer.body;
          rotated++;
        }
      });
      while (rotated === before) await sleep(1);
      await sleep(random() * killWithinMs);
      // It ends by SIGKILL.
      await close();
      isKilled = true;
      await Promise.all(rotating);
      hub = await spawnHub(settings);
      // The key that its owner has is in force, or was replaced by one whose answer was lost, and is valid for the overlap.
      for (const { key, keyId } of held) {
        const found = await hub.api.get('/v1/keys/current', { key });
        expect([found.status, found.body.keyId]).toEqual([200, keyId]);
      }
    }
    expect(rotated).toBeGreaterThanOrEqual(kills);
  });
});
