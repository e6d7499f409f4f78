/** A value of the most bytes takes another way to each engine: bound, expanded in a list, or written into a command. */

import { fileURLToPath } from 'node:url';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessOf } from '../../support/databases.ts';
import { scaled } from '../../support/scale.ts';
import { type SpawnedHub, spawnHub } from '../../support/spawned.ts';
import { payloads, type Shape, shapes } from './payloads.ts';

const sql = 'SELECT JSON_LENGTH(:a) AS v';
const queries = {
  mysql: { url: process.env.MYSQL_URL, query: sql },
  mariadb: { url: process.env.MARIADB_URL, query: sql },
  mongodb: { url: process.env.MONGODB_URL, query: '{"find": "none", "filter": {"a": {"$eq": ":a"}}}' },
};
const quickShapes: readonly Shape[] = ['numbers', 'decimals', 'members'];
/** Of CPU between two turns: what one account may take from another. */
const longestMs = 250;
/** A collection of all garbage can fall into a call, so the least of these counts. */
const tries = 4;

describe('a value of a megabyte does not hold the process', () => {
  let hub: SpawnedHub;
  let look: () => Promise<{ longestMs: number }>;
  beforeAll(async () => {
    const port = await freePort();
    const watching = fileURLToPath(new URL('./watch-turns.mjs', import.meta.url));
    hub = await spawnHub({ WATCH_TURNS_PORT: String(port), NODE_OPTIONS: `--import=${watching}` });
    look = async () => (await (await fetch(`http://127.0.0.1:${port}`)).json()) as { longestMs: number };
  });
  afterAll(() => hub?.close());

  describe.each(Object.entries(queries))('at %s', (engine, { url, query }) => {
    let queryId: string;
    beforeAll(async () => {
      if (url === undefined) return;
      const { api } = hub;
      const { hubId } = await api.ok(api.post('/v1/hubs', { label: engine }));
      const access = accessOf(url);
      const connectionSettings = { ...access, database: access.database || 'test' };
      const source = { hubId, label: engine, engine, connectionSettings };
      const { sourceId } = await api.ok(api.post('/v1/sources', source));
      const context = [{ key: 'a', type: 'json' }];
      const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, context }));
      queryId = stored.config.query.queryId;
    });

    it.skipIf(url === undefined).each(scaled(quickShapes, shapes))('%s', async (shape: Shape) => {
      const raw = `{"queryId":"${queryId}","context":{"a":{"b":${payloads[shape]()}}}}`;
      const call = () => hub.api.call('POST', '/v1/queries/execute', { raw });
      const first = await call();
      expect([first.status, first.body.detail]).toEqual([200, undefined]);
      let least = Infinity;
      for (let i = 0; i < tries && least > longestMs; i++) {
        await look();
        await call();
        least = Math.min(least, (await look()).longestMs);
      }
      expect(least).toBeLessThan(longestMs);
    });
  });
});
