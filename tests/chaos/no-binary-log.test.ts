/** MySQL warns of tables without transactions only if it writes a binary log. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import mysql from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cacheDir } from '../../tools/cache.ts';
import { createCertificates } from '../../tools/databases/certificates.ts';
import { findMysql, startMysql } from '../../tools/databases/mysql.ts';
import type { StartedDatabase } from '../../tools/databases/postgres.ts';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

const mysqld = await findMysql(cacheDir);

describe.skipIf(mysqld === undefined)(
  'a write that fails at MySQL without a binary log (needs MySQL)',
  () => {
    let dir: string;
    let server: StartedDatabase;
    let client: mysql.Connection;
    let hub: SpawnedHub;
    let ids: { hubId: string; sourceId: string };
    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), 'datahub-no-log-'));
      const certificates = await createCertificates(dir);
      const more = ['--skip-log-bin'];
      server = await startMysql(mysqld as NonNullable<typeof mysqld>, {
        dir,
        certificates,
        port: await freePort(),
        more,
      });
      client = await mysql.createConnection(server.url);
      hub = await spawnHub({});
      const { hostname, port, username, password } = new URL(server.url);
      const { hubId } = await hub.api.ok(hub.api.post('/v1/hubs', { label: 'h' }));
      const { sourceId } = await hub.api.ok(
        hub.api.post('/v1/sources', {
          hubId,
          label: 's',
          engine: 'mysql',
          connectionSettings: {
            host: hostname,
            port: Number(port),
            database: 'hub',
            user: username,
            password,
          },
        }),
      );
      ids = { hubId, sourceId };
    });
    afterAll(async () => {
      await hub?.close();
      await client?.end();
      await server?.stop();
      await rm(dir, { recursive: true, force: true });
    });

    const count = async () => {
      const [rows] = await client.query<mysql.RowDataPacket[]>('SELECT COUNT(*) AS n FROM t');
      return rows[0]?.n;
    };
    const publish = async (query: string) => {
      const stored = { ...ids, label: 'w', command: 'INSERT', query };
      return (await hub.api.ok(hub.api.post('/v1/queries', stored))).config.query.queryId as string;
    };

    it.each([
      ['MyISAM', 409, 'ROLLBACK_INCOMPLETE', 2],
      ['MEMORY', 409, 'ROLLBACK_INCOMPLETE', 2],
      ['InnoDB', 409, 'CONSTRAINT', 0],
    ])('in the middle of %s is %i %s', async (engine, status, code, rows) => {
      await client.query('DROP TABLE IF EXISTS t');
      await client.query(`CREATE TABLE t (id INT PRIMARY KEY) ENGINE = ${engine}`);
      const queryId = await publish('INSERT INTO t VALUES (1), (2), (1)');
      const run = (key: string) =>
        hub.api.call('POST', '/v1/queries/execute', {
          body: { queryId },
          headers: { 'idempotency-key': `${engine}-${key}` },
        });
      expect(await run('a')).toMatchObject({ status, body: { code } });
      expect(await count()).toBe(rows);
      // A repetition changes nothing more.
      await client.query('DELETE FROM t');
      expect(await run('a')).toMatchObject({ status: 409 });
      expect(await count()).toBe(0);
    });

    it('by its time limit is not said to be undone', async () => {
      await client.query('DROP TABLE IF EXISTS t');
      await client.query('CREATE TABLE t (id INT) ENGINE = MyISAM');
      const queryId = await publish(
        'INSERT INTO t SELECT SLEEP(0.4) FROM (VALUES ROW(1), ROW(2), ROW(3), ROW(4), ROW(5)) v',
      );
      const answer = await hub.api.post('/v1/queries/execute', { queryId, options: { timeoutMs: 1_000 } });
      expect(answer).toMatchObject({ status: 503, body: { code: 'OUTCOME_UNKNOWN' } });
      expect(await count()).toBeGreaterThan(0);
    });
  },
);
