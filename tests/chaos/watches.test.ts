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
import { clockSettings, setClocks } from './support/clocks.ts';

const { MONGODB_URL, POSTGRES_URL } = process.env;
const everyS = 10;
/** Spread over the ten seconds, so 6 or 20 ticks are due each second. */
const watches = scaled(60, 200);
const kills = scaled(2, 9);
/** Some runs of a killed gateway are taken over after their lease of 15 s, others before the next kill. */
const betweenKillsMs = scaled(12_000, 20_000);
const killingMs = kills * betweenKillsMs;
const inserted = scaled(1_200, 10_000);
/** Transactions that are open at the same time, each up to so long, and the rows of each. */
const lateAtOnce = 8;
const lateMsMax = scaled(9_000, 15_000);
const lateRows = 10;
const timeoutMs = 900_000;

const stores = [
  { name: 'SQLite', settings: () => ({}) },
  ...(MONGODB_URL === undefined
    ? []
    : [
        {
          name: 'MongoDB',
          settings: () => {
            const url = new URL(MONGODB_URL);
            url.pathname = `/watches_${randomBytes(6).toString('hex')}`;
            return { DATAHUB_STORE_URL: url.href };
          },
        },
      ]),
];

describe.skipIf(POSTGRES_URL === undefined).each(stores)(
  'watches of three gateways over $name (need POSTGRES_URL)',
  ({ settings }) => {
    const table = `watched_${randomBytes(4).toString('hex')}`;
    const key = `test-key-${randomBytes(24).toString('hex')}`;
    let client: pg.Client;
    let late: pg.Client[];
    let dir: string;
    let hub: DistributedHub;
    let apis: Api[];

    beforeAll(async () => {
      const open = async () => {
        const opened = new pg.Client({ connectionString: POSTGRES_URL });
        await opened.connect();
        return opened;
      };
      client = await open();
      late = await Promise.all(Array.from({ length: lateAtOnce }, open));
      await client.query(`CREATE TABLE ${table} (id integer)`);
      dir = await mkdtemp(join(tmpdir(), 'datahub-watches-'));
      const clocks = join(dir, 'clocks');
      await setClocks(clocks, 'gateway', [2_000, -2_000, 0]);
      await setClocks(clocks, 'catalog', [-2_000]);
      await setClocks(clocks, 'executor', [2_000]);
      hub = await startDistributed(
        {
          ...hubSettings(dir, key),
          ...settings(),
          ...clockSettings(clocks),
          DATAHUB_EDGE: 'none',
        },
        'ignore',
        { replicas: { gateway: 3 } },
      );
      apis = hub.gateways.map(({ port }) => createApi({ url: `http://127.0.0.1:${port}`, key }));
    });
    afterAll(async () => {
      await hub?.close();
      await Promise.all(late.map((one) => one.end()));
      await client.query(`DROP TABLE IF EXISTS ${table}`);
      await client.end();
      await rm(dir, { recursive: true, force: true });
    });

    /** The last gateway is never killed. A store that many ticks keep busy may not answer at once. */
    const ok = async (path: string, body?: object): Promise<any> => {
      const api = apis[2] as Api;
      const deadline = performance.now() + 120_000;
      for (;;) {
        const answer = await (body === undefined ? api.get(path) : api.post(path, body));
        if (answer.status !== 503 || performance.now() > deadline) return api.ok(Promise.resolve(answer));
        await wait(500);
      }
    };
    /** The runs of each watch. */
    const allRuns = async (hubId: string): Promise<Map<string, any[]>> => {
      const found = new Map<string, any>();
      // Runs that end meanwhile move others to later pages, so that some are read twice, and none is left out.
      for (let offset = 0; ; offset += 500) {
        const page = await ok(`/v1/watches/runs?hubId=${hubId}&offset=${offset}&limit=500`);
        for (const run of page) found.set(run.runId, run);
        if (page.length < 500) break;
      }
      return Map.groupBy(found.values(), ({ watchId }) => watchId);
    };

    /** Some rows commit at once, others late and in another order than they were written. */
    const insertAll = async (): Promise<void> => {
      const startedAt = performance.now();
      let next = 0;
      const untilTurn = (id: number) =>
        wait(Math.max(0, startedAt + (id / inserted) * killingMs - performance.now()));
      const insertLate = async (connection: pg.Client) => {
        while (next + lateRows <= inserted) {
          const ids = Array.from({ length: lateRows }, () => next++);
          await connection.query('BEGIN');
          await connection.query(`INSERT INTO ${table} SELECT unnest($1::int[])`, [ids]);
          await wait(Math.random() * lateMsMax);
          await connection.query('COMMIT');
        }
      };
      const insertSoon = async () => {
        while (next < inserted) {
          const id = next++;
          await untilTurn(id);
          await client.query(`INSERT INTO ${table} VALUES ($1)`, [id]);
        }
      };
      await Promise.all([insertSoon(), ...late.map(insertLate)]);
    };

    /** Follows the events of a watch, and reads the rows of each. */
    const createReader = (watchId: string) => {
      const told: number[] = [];
      let after = '';
      return async (): Promise<number[]> => {
        const page = await ok(`/v1/events?type=watch.rows&limit=500${after && `&after=${after}`}`);
        after = page.after ?? after;
        for (const { data } of page.events) {
          expect(data.watchId).toBe(watchId);
          const rows = await ok(data.rowsUrl);
          told.push(...rows.data.map(({ id }: { id: number }) => id));
        }
        return told;
      };
    };

    it(
      'run each tick once and tell each row once, while gateways are killed and clocks differ',
      async () => {
        const { hubId } = await ok('/v1/hubs', { label: 'watches' });
        const connectionSettings = accessOf(POSTGRES_URL as string);
        const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
        const { sourceId } = await ok('/v1/sources', source);
        const store = async (query: string) =>
          (await ok('/v1/queries', { hubId, sourceId, label: 'q', query })).config.query.queryId;
        const [steady, rows] = [await store('SELECT 1 AS one'), await store(`SELECT id FROM ${table}`)];
        const schedule = { everyS, spreadS: everyS };
        const create = (more: object): Promise<any> =>
          ok('/v1/watches', { hubId, label: 'w', schedule, ...more });
        const { watchId: telling } = await create({
          queryId: rows,
          when: 'new',
          by: ['id'],
          include: ['id'],
        });
        const baseline = await ok(`/v1/watches/${telling}/run`, {});
        const isBaseline = async () =>
          (await (apis[2] as Api).get(`/v1/watches/${telling}/runs/${baseline.runId}`)).status;
        await expect.poll(isBaseline, { timeout: 30_000 }).toBe(200);
        const made: any[] = [];
        for (let i = 0; i < watches; i++) made.push(await create({ queryId: steady, when: 'always' }));

        const inserting = insertAll();
        for (let i = 0; i < kills; i++) {
          await wait(betweenKillsMs);
          await hub.restart('gateway', i % 2, 'SIGKILL');
        }
        await inserting;
        const endedAt = Date.now();

        // The lease of a run whose gateway was killed ends after 15 s.
        const readTold = createReader(telling);
        await expect
          .poll(async () => (await readTold()).length, { timeout: 240_000, interval: 1_000 })
          .toBeGreaterThanOrEqual(inserted);
        const told = await readTold();
        expect(told.toSorted((a, b) => a - b)).toEqual(Array.from({ length: inserted }, (_, i) => i));

        let runs = new Map<string, any[]>();
        const behind = async () => {
          runs = await allRuns(hubId);
          const reaches = (watchId: string) =>
            runs.get(watchId)?.some(({ untilAt }) => Date.parse(untilAt) > endedAt);
          return made.filter(({ watchId }) => !reaches(watchId)).length;
        };
        await expect.poll(behind, { timeout: 240_000, interval: 5_000 }).toBe(0);
        const outcomes: Record<string, number> = {};
        for (const { watchId, nextAt } of made) {
          let due = Date.parse(nextAt);
          const inOrder = runs.get(watchId)?.toSorted((a, b) => (a.dueAt < b.dueAt ? -1 : 1)) ?? [];
          for (const { dueAt, untilAt, ticks, outcome } of inOrder) {
            expect(Date.parse(dueAt)).toBe(due);
            expect(Date.parse(untilAt)).toBe(due + (ticks - 1) * everyS * 1_000);
            due += ticks * everyS * 1_000;
            outcomes[outcome] = (outcomes[outcome] ?? 0) + ticks;
          }
        }
        console.log(`ticks by outcome: ${JSON.stringify(outcomes)}; rows told: ${told.length}`);
        expect(outcomes.ok).toBeGreaterThan(0);
      },
      timeoutMs,
    );
  },
);
