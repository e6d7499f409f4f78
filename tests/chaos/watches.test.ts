import { randomBytes } from 'node:crypto';
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
const everyS = 10;
/** As many ticks are due each second as a tenth of these. */
const watches = scaled(20, 200);
const kills = scaled(1, 9);
const betweenKillsMs = scaled(6_000, 20_000);
const inserted = scaled(400, 10_000);
const timeoutMs = scaled(120_000, 600_000);

describe.skipIf(POSTGRES_URL === undefined)('watches of three gateways (need POSTGRES_URL)', () => {
  const table = `watched_${randomBytes(4).toString('hex')}`;
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  let client: pg.Client;
  let late: pg.Client;
  let dir: string;
  let hub: DistributedHub;
  let apis: Api[];

  beforeAll(async () => {
    [client, late] = [0, 1].map(() => new pg.Client({ connectionString: POSTGRES_URL })) as [
      pg.Client,
      pg.Client,
    ];
    await Promise.all([client.connect(), late.connect()]);
    await client.query(`CREATE TABLE ${table} (id integer)`);
    dir = await mkdtemp(join(tmpdir(), 'datahub-watches-'));
    const settings = { ...hubSettings(dir, key), DATAHUB_EDGE: 'none' };
    hub = await startDistributed(settings, 'ignore', { gateway: 3 });
    apis = hub.gateways.map(({ port }) => createApi({ url: `http://127.0.0.1:${port}`, key }));
  }, 120_000);
  afterAll(async () => {
    await hub?.close();
    await client.query(`DROP TABLE IF EXISTS ${table}`);
    await Promise.all([client.end(), late.end()]);
    await rm(dir, { recursive: true, force: true });
  });

  /** The last gateway is never killed. */
  const ok = (path: string, body?: object): Promise<any> => {
    const api = apis[2] as Api;
    return api.ok(body === undefined ? api.get(path) : api.post(path, body));
  };
  const allRuns = async (watchId: string): Promise<any[]> => {
    const found: any[] = [];
    for (;;) {
      const page = await ok(`/v1/watches/${watchId}/runs?offset=${found.length}&limit=500`);
      found.push(...page);
      if (page.length < 500) return found.toReversed();
    }
  };

  it(
    'run each tick once and tell each row once, while gateways are killed',
    async () => {
      const { hubId } = await ok('/v1/hubs', { label: 'watches' });
      const source = {
        hubId,
        label: 's',
        engine: 'postgres',
        connectionSettings: accessOf(POSTGRES_URL as string),
      };
      const { sourceId } = await ok('/v1/sources', source);
      const store = async (query: string) =>
        (await ok('/v1/queries', { hubId, sourceId, label: 'q', query })).config.query.queryId;
      const [steady, rows] = [await store('SELECT 1 AS one'), await store(`SELECT id FROM ${table}`)];
      const create = async (more: object): Promise<string> =>
        (await ok('/v1/watches', { hubId, label: 'w', schedule: { everyS }, ...more })).watchId;
      const ids = await Promise.all(
        Array.from({ length: watches }, () => create({ queryId: steady, when: 'always' })),
      );
      const telling = await create({ queryId: rows, when: 'new', by: ['id'], include: ['id'] });
      const baseline = await ok(`/v1/watches/${telling}/run`, {});
      await expect
        .poll(
          async () => (await (apis[2] as Api).get(`/v1/watches/${telling}/runs/${baseline.runId}`)).status,
          { timeout: 30_000 },
        )
        .toBe(200);

      let next = 0;
      let isOver = false;
      const insertAll = async () => {
        while (next < inserted) {
          // The second row commits after later ones.
          await late.query('BEGIN');
          await late.query(`INSERT INTO ${table} VALUES ($1)`, [next++]);
          for (let i = 0; i < 3; i++) await client.query(`INSERT INTO ${table} VALUES ($1)`, [next++]);
          await wait((kills * betweenKillsMs) / (inserted / 4));
          await late.query('COMMIT');
        }
        isOver = true;
      };
      const inserting = insertAll();
      for (let i = 0; i < kills; i++) {
        await wait(betweenKillsMs);
        await hub.restart('gateway', i % 2, 'SIGKILL');
      }
      await inserting;
      expect(isOver).toBe(true);

      // The lease of a run whose gateway was killed ends after 15 s.
      const told: number[] = [];
      const seen = new Set<string>();
      await expect
        .poll(
          async () => {
            for (const { runId, hasRows } of await allRuns(telling)) {
              if (!hasRows || seen.has(runId)) continue;
              seen.add(runId);
              const { data } = await ok(`/v1/watches/${telling}/runs/${runId}/rows`);
              told.push(...data.map(({ id }: { id: number }) => id));
            }
            return told.length;
          },
          { timeout: 60_000, interval: 1_000 },
        )
        .toBeGreaterThanOrEqual(next);
      expect(told.toSorted((a, b) => a - b)).toEqual(Array.from({ length: next }, (_, i) => i));

      for (const watchId of ids) {
        // The second tick may come after all rows were told.
        await expect
          .poll(async () => (await allRuns(watchId)).length, { timeout: 30_000, interval: 500 })
          .toBeGreaterThan(1);
        const runs = await allRuns(watchId);
        const [first] = runs;
        let due = Date.parse(first.dueAt);
        for (const { dueAt, untilAt, ticks } of runs) {
          expect(Date.parse(dueAt)).toBe(due);
          expect(Date.parse(untilAt)).toBe(due + (ticks - 1) * everyS * 1_000);
          due += ticks * everyS * 1_000;
        }
      }
    },
    timeoutMs,
  );
});
