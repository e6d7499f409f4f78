import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Answer, type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { hubSettings } from '../support/spawned.ts';
import { type Watcher, watch } from '../support/watcher.ts';

const { POSTGRES_URL } = process.env;
const calls = 1_000;

describe.skipIf(!POSTGRES_URL)(
  `${calls} simultaneous misses over three gateways and two executors (needs POSTGRES_URL)`,
  () => {
    const database = `misses_${randomBytes(6).toString('hex')}`;
    let server: pg.Client;
    let source: pg.Client;
    let watcher: Watcher;
    let dir: string;
    let hub: DistributedHub;
    let apis: [Api, ...Api[]];
    let ids: { hubId: string; sourceId: string };

    beforeAll(async () => {
      server = new pg.Client({ connectionString: POSTGRES_URL });
      await server.connect();
      await server.query(`CREATE DATABASE ${database}`);
      // PostgreSQL counts the calls of functions, those of read-only transactions and rolled back ones included.
      await server.query(`ALTER DATABASE ${database} SET track_functions = 'pl'`);
      const url = new URL(POSTGRES_URL as string);
      url.pathname = `/${database}`;
      source = new pg.Client({ connectionString: url.href });
      await source.connect();
      for (const name of ['alone', 'before_change', 'after_change']) {
        await source.query(
          `CREATE FUNCTION ${name}() RETURNS text LANGUAGE plpgsql AS
           $$ BEGIN PERFORM pg_sleep(1.5); RETURN '${name} ' || gen_random_uuid(); END $$`,
        );
      }
      dir = await mkdtemp(join(tmpdir(), 'datahub-misses-'));
      const key = `test-key-${randomBytes(24).toString('hex')}`;
      const settings = {
        ...hubSettings(dir, key),
        DATAHUB_EDGE: 'none',
      };
      hub = await startDistributed(settings, 'ignore', { replicas: { gateway: 3, executor: 2 } });
      apis = hub.gateways.map(({ port }) =>
        createApi({ url: `http://127.0.0.1:${port}`, key }),
      ) as typeof apis;
      const [api] = apis;
      const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'misses' }));
      const connectionSettings = { ...accessOf(url), database };
      watcher = await watch('postgres', { ...connectionSettings, database: 'postgres' });
      const body = { hubId, label: 's', engine: 'postgres', connectionSettings };
      const { sourceId } = await api.ok(api.post('/v1/sources', body));
      ids = { hubId, sourceId };
      // A gateway that has just started may know only one of the executors.
      const warm = await store('SELECT 1 AS one', {});
      for (let turn = 0; turn < 4; turn++)
        for (const one of apis) await one.ok(one.get(`/v1/queries/${warm}/data`));
    });

    afterAll(async () => {
      await hub?.close();
      await source?.end();
      await watcher?.close();
      await server.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
      await server.end();
      await rm(dir, { recursive: true, force: true });
    });

    const store = async (query: string, change: object = { cache: { maxAgeS: 600 } }): Promise<string> =>
      (await apis[0].ok(apis[0].post('/v1/queries', { ...ids, label: 'q', query, ...change }))).config.query
        .queryId;

    const readAtOnce = (queryId: string): Promise<Answer[]> =>
      Promise.all(
        Array.from({ length: calls }, (_, i) =>
          (apis[i % apis.length] as Api).get(`/v1/queries/${queryId}/data`),
        ),
      );

    /** How often the database called a function. Its sessions report that at the latest when they end. */
    const callsOf = async (name: string): Promise<number> => {
      const others = `FROM pg_stat_activity WHERE datname = '${database}' AND pid <> pg_backend_pid()`;
      await source.query(`SELECT pg_terminate_backend(pid) ${others}`);
      const count = async () => Number((await source.query(`SELECT count(*) AS n ${others}`)).rows[0].n);
      await expect.poll(count, { timeout: 60_000, interval: 20 }).toBe(0);
      const counted = 'SELECT coalesce(sum(calls), 0) AS n FROM pg_stat_user_functions WHERE funcname = $1';
      return Number((await source.query(counted, [name])).rows[0].n);
    };

    const runOf = ({ status, body, text }: Answer): string => {
      if (status !== 200) throw new Error(`${status}: ${text}`);
      return body.data[0].run;
    };

    it('are one execution at the database and equal answers', async () => {
      const queryId = await store('SELECT alone() AS run');
      const answers = await readAtOnce(queryId);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(runOf(answers[0] as Answer)).toMatch(/^alone /);
      const outcomes = answers.map(({ headers }) => headers.get('cache-status')?.replace(/; ttl=.*/, ''));
      expect(outcomes.filter((outcome) => outcome === 'data-hub; fwd=miss; stored')).toHaveLength(1);
      const collapsed = outcomes.filter((outcome) => outcome === 'data-hub; fwd=miss; collapsed');
      expect(collapsed.length).toBeGreaterThan(calls / 10);
      expect(await callsOf('alone')).toBe(1);
    });

    it('run once before and once after a change, and no call gets the old answer after it', async () => {
      const queryId = await store('SELECT before_change() AS run');
      const early = readAtOnce(queryId);
      await expect.poll(() => watcher.running('before_change()'), { timeout: 60_000, interval: 20 }).toBe(1);
      const query = { query: 'SELECT after_change() AS run' };
      await apis[1]?.ok(apis[1].put(`/v1/queries/${queryId}`, { config: { query } }));
      const late = new Set((await readAtOnce(queryId)).map(runOf));
      expect([...late]).toEqual([expect.stringMatching(/^after_change /)]);
      const old = (await early).map(runOf).filter((run) => !late.has(run));
      expect([...new Set(old)]).toEqual([expect.stringMatching(/^before_change /)]);
      expect([await callsOf('before_change'), await callsOf('after_change')]).toEqual([1, 1]);
    });
  },
);
