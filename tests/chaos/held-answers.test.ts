import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { hubSettings } from '../support/spawned.ts';

const { POSTGRES_URL } = process.env;
const heldMemory = new URL('./support/held-memory.ts', import.meta.url).href;
const calls = 12;
const executionsOfCall = 12;
/** A key may have 64 MiB. Answers that kept the messages they came in held 170 with as many calls, and 800 with more. */
const growthMaxMiB = 112;

describe.skipIf(POSTGRES_URL === undefined)(
  'a gateway that answers many large executions at once (needs POSTGRES_URL)',
  () => {
    let dir: string;
    let hub: DistributedHub;
    let api: Api;
    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), 'datahub-answers-'));
      const key = `test-key-${randomBytes(24).toString('hex')}`;
      const env = {
        ...hubSettings(dir, key),
        NODE_OPTIONS: `--import=${heldMemory}`,
        HELD_MEMORY_FILE: join(dir, 'held'),
      };
      hub = await startDistributed(env, 'ignore');
      api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
    });
    afterAll(async () => {
      await hub?.close();
      await rm(dir, { recursive: true, force: true });
    });

    /** What the gateway holds at this moment, without garbage. */
    const heldMiB = async (): Promise<number> => {
      const file = join(dir, 'held');
      await rm(file, { force: true });
      process.kill(hub.pidOf('gateway', 0), 'SIGUSR2');
      await expect.poll(() => readFile(file, 'utf8').catch(() => '')).not.toBe('');
      return Number(await readFile(file, 'utf8')) / 2 ** 20;
    };

    it('holds about as many bytes as its budget of responses', async () => {
      const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'held' }));
      const connectionSettings = { ...accessOf(POSTGRES_URL as string), pool: { max: 10 } };
      const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
      const { sourceId } = await api.ok(api.post('/v1/sources', source));
      const query = "SELECT repeat('x', 1000000) AS x FROM generate_series(1, 20)";
      const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query }));
      const { queryId } = stored.config.query;
      const before = await heldMiB();
      let left = calls;
      const body = { executions: Array.from({ length: executionsOfCall }, () => ({ queryId })) };
      const all = Array.from({ length: calls }, async () => {
        const { status } = await api.post('/v1/queries/data', body);
        left--;
        return status;
      });
      let most = 0;
      while (left > 0) most = Math.max(most, await heldMiB());
      expect(new Set(await Promise.all(all))).toEqual(new Set([200]));

      expect(most - before).toBeLessThan(growthMaxMiB);
    });
  },
);
