import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { hubSettings } from '../support/spawned.ts';

const { POSTGRES_URL } = process.env;
const isLinux = process.platform === 'linux';
const partBytes = 1_048_576;

async function operator(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: POSTGRES_URL as string });
  await client.connect();
  await client.query(text);
  await client.end();
}

/** Whether a process has a text in its memory, as one byte or as two bytes a character. */
function holds(pid: number, text: string): boolean {
  const forms = [Buffer.from(text), Buffer.from(text, 'utf16le')];
  const overlap = text.length * 2;
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  const part = Buffer.alloc(partBytes + overlap);
  try {
    return readFileSync(`/proc/${pid}/maps`, 'utf8')
      .split('\n')
      .flatMap((line) => /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [])
      .some(
        (_, i, found) =>
          i % 3 === 0 && found[i + 1] !== undefined && scan(found[i + 1] as string, found[i + 2] as string),
      );
  } finally {
    closeSync(memory);
  }

  function scan(from: string, to: string): boolean {
    const end = Number.parseInt(to, 16);
    for (let at = Number.parseInt(from, 16); at < end; at += partBytes) {
      const length = Math.min(part.length, end - at);
      try {
        const read = readSync(memory, part, 0, length, at);
        if (forms.some((form) => part.subarray(0, read).includes(form))) return true;
      } catch {
        // A part that the kernel keeps for itself.
      }
    }
    return false;
  }
}

describe.skipIf(POSTGRES_URL === undefined || !isLinux)(
  'the memory of a service (needs POSTGRES_URL, Linux)',
  () => {
    let dir: string;
    let hub: DistributedHub;
    /** One that is in nobody's environment. */
    const user = `memory_${randomBytes(4).toString('hex')}`;
    const password = randomBytes(16).toString('hex');
    const key = `test-key-${randomBytes(24).toString('hex')}`;

    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), 'datahub-memory-'));
      await operator(`CREATE ROLE ${user} LOGIN PASSWORD '${password}'`);
      hub = await startDistributed(
        {
          ...hubSettings(dir, key),
        },
        'ignore',
      );
    });
    afterAll(async () => {
      await hub.close();
      await operator(`DROP ROLE ${user}`);
      await rm(dir, { recursive: true, force: true });
    });

    it('holds no password of a source at gateway and catalog, while the source is used', async () => {
      const api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
      const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'memory' }));
      const connectionSettings = { ...accessOf(POSTGRES_URL as string), user, password };
      const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
      const { sourceId } = await api.ok(api.post('/v1/sources', source));
      const stored = await api.ok(
        api.post('/v1/queries', { hubId, sourceId, label: 'q', query: 'SELECT 1 AS one' }),
      );
      const { queryId } = stored.config.query;
      // Who took the password when it was saved may have leftovers of that request; nobody sends it to them again.
      await hub.restart('catalog', 0);
      await hub.restart('gateway', 0);
      const works = async () => (await api.post('/v1/queries/execute', { queryId })).status;
      await expect.poll(works, { timeout: 60_000, interval: 100 }).toBe(200);
      for (let i = 0; i < 50; i++) await api.ok(api.post('/v1/queries/execute', { queryId }));
      await api.ok(api.get(`/v1/sources/${sourceId}`));
      await api.ok(api.post(`/v1/sources/${sourceId}/test`));
      expect(holds(hub.pidOf('gateway', 0), key)).toBe(true);
      for (const service of ['gateway', 'catalog', 'ml'] as const) {
        expect([service, holds(hub.pidOf(service, 0), password)]).toEqual([service, false]);
      }
    });
  },
);
