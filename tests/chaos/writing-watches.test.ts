import { randomBytes, randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { scaled } from '../support/scale.ts';
import { hubSettings } from '../support/spawned.ts';

const { POSTGRES_URL } = process.env;
const kills = scaled(12, 200);
/** Ten ticks a second, each of which writes for so long, so that a kill meets some of them. */
const watches = 100;
const everyS = 10;
const writeSeconds = 0.3;
const betweenKillsMsMax = 500;

describe.skipIf(POSTGRES_URL === undefined)('watches that write (need POSTGRES_URL)', () => {
  const table = `written_${randomBytes(4).toString('hex')}`;
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  let client: pg.Client;
  let dir: string;
  let hub: DistributedHub;
  let api: Api;

  beforeAll(async () => {
    client = new pg.Client({ connectionString: POSTGRES_URL });
    await client.connect();
    await client.query(`CREATE TABLE ${table} (watch integer, start bigint, at timestamptz)`);
    // A sequence counts starts whose statement was rolled back, too.
    for (let i = 0; i < watches; i++) await client.query(`CREATE SEQUENCE ${table}_${i}`);
    dir = await mkdtemp(join(tmpdir(), 'datahub-writing-'));
    const settings = { ...hubSettings(dir, key), DATAHUB_EDGE: 'none' };
    hub = await startDistributed(settings, 'ignore', { replicas: { gateway: 3 } });
    // The last gateway is never killed.
    api = createApi({ url: `http://127.0.0.1:${hub.gateways[2]?.port}`, key });
  });
  afterAll(async () => {
    await hub?.close();
    for (let i = 0; i < watches; i++) await client.query(`DROP SEQUENCE IF EXISTS ${table}_${i}`);
    await client.query(`DROP TABLE IF EXISTS ${table}`);
    await client.end();
    await rm(dir, { recursive: true, force: true });
  });

  /** The hub answers 503 while a part of it starts again. */
  const ok = async (method: 'get' | 'post' | 'put', path: string, body?: object): Promise<any> => {
    const deadline = performance.now() + 60_000;
    for (;;) {
      const answer = await (method === 'get' ? api.get(path) : api[method](path, body));
      if (answer.status < 500 || performance.now() > deadline) return api.ok(Promise.resolve(answer));
      await wait(100);
    }
  };
  const allRuns = async (watchId: string): Promise<any[]> => {
    const found: any[] = [];
    for (;;) {
      const page = await ok('get', `/v1/watches/${watchId}/runs?offset=${found.length}&limit=500`);
      found.push(...page);
      if (page.length < 500) return found;
    }
  };

  it('start the write of no tick a second time, whichever process is killed', async () => {
    const { hubId } = await ok('post', '/v1/hubs', { label: 'writing' });
    const connectionSettings = accessOf(POSTGRES_URL as string);
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
    const { sourceId } = await ok('post', '/v1/sources', source);
    const query = `INSERT INTO ${table} SELECT CAST(:watch AS integer), n, at
      FROM (SELECT nextval(CAST(:sequence AS regclass)) AS n, clock_timestamp() AS at OFFSET 0) AS started,
      LATERAL pg_sleep(CASE WHEN n > 0 THEN ${writeSeconds} END)`;
    const stored = { hubId, sourceId, label: 'q', query, command: 'INSERT' };
    const { queryId } = (await ok('post', '/v1/queries', stored)).config.query;
    const settings = { queryId, label: 'w', when: 'always', schedule: { everyS, spreadS: everyS } };
    const made = [];
    for (let i = 0; i < watches; i++) {
      const context = { watch: i, sequence: `${table}_${i}` };
      made.push((await ok('post', '/v1/watches', { ...settings, hubId, context })).watchId);
    }

    for (let i = 0; i < kills; i++) {
      await wait(randomInt(betweenKillsMsMax));
      const [service, replica] = (
        [
          ['gateway', 0],
          ['gateway', 1],
          ['executor', 0],
          ['catalog', 0],
        ] as const
      )[randomInt(4)] as ['gateway', number];
      // On a busy machine, a process may start too slowly for this call.
      await hub.restart(service, replica, 'SIGKILL').catch(() => {});
    }
    for (const { port } of hub.gateways) {
      const isReady = () =>
        fetch(`http://127.0.0.1:${port}/readyz`).then(
          ({ status }) => status,
          () => 0,
        );
      await expect.poll(isReady, { timeout: 120_000, interval: 200 }).toBe(200);
    }

    const counts: Record<string, number> = { starts: 0, rows: 0 };
    for (const [i, watchId] of made.entries()) {
      const context = { watch: i, sequence: `${table}_${i}` };
      await ok('put', `/v1/watches/${watchId}`, { ...settings, context, paused: true });
    }
    for (const [i, watchId] of made.entries()) {
      // The lease of a run whose gateway was killed ends after 15 s.
      const isRunning = async () => (await ok('get', `/v1/watches/${watchId}`)).running;
      await expect.poll(isRunning, { timeout: 60_000, interval: 500 }).toBe(false);
      const runs = (await allRuns(watchId))
        .filter(({ startedAt }) => startedAt !== null)
        .map(({ startedAt, outcome }) => ({ at: Date.parse(startedAt), outcome, rows: 0 }))
        .sort((a, b) => a.at - b.at);
      const { rows } = await client.query(`SELECT at FROM ${table} WHERE watch = $1`, [i]);
      for (const { at } of rows) {
        const run = runs.findLast((one) => one.at <= at.getTime());
        expect(run).toBeDefined();
        if (run !== undefined) run.rows += 1;
      }
      const { last, called } = (
        await client.query(`SELECT last_value::int AS last, is_called AS called FROM ${table}_${i}`)
      ).rows[0];
      const starts = called ? last : 0;
      expect(runs.filter((run) => run.rows > 1 || (run.outcome === 'ok' && run.rows !== 1))).toEqual([]);
      expect(starts).toBeLessThanOrEqual(runs.length);
      counts.starts = (counts.starts ?? 0) + starts;
      counts.rows = (counts.rows ?? 0) + rows.length;
      for (const { outcome } of runs) counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
    console.log(`${kills} kills: ${JSON.stringify(counts)}`);
    expect(counts.starts).toBeGreaterThan(kills);
  }, 1_800_000);
});
