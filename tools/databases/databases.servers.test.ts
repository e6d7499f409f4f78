/** Checks that the servers that the tests start have the expected versions and settings. */

import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cacheDir } from '../cache.ts';
import { type Certificates, createCertificates } from './certificates.ts';
import { findMariadb, startMariadb } from './mariadb.ts';
import { findMysql, startMysql } from './mysql.ts';
import { findPostgres, type StartedDatabase, startPostgres } from './postgres.ts';

const bin = await findPostgres();
const commands = findMariadb();
const mysqld = await findMysql(cacheDir);
type Call = [options: { dir: string; port: number; certificates: Certificates }];
let dir: string;
let certificates: Certificates;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'datahub-servers-test-'));
  await chmod(dir, 0o755);
  certificates = await createCertificates(join(dir, 'certificates'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

describe.skipIf(bin === undefined)('the PostgreSQL of the tests (needs an installed one)', () => {
  let server: StartedDatabase;
  beforeAll(async () => {
    server = await startPostgres(bin as string, { dir, certificates, port: await freePort() });
  });
  afterAll(() => server?.stop());

  it('has a certificate of the CA, and accepts many connections', async () => {
    const ssl = { ca: await readFile(server.ca as string, 'utf8') };
    const client = new pg.Client({ connectionString: server.url, ssl });
    await client.connect();
    const { rows } = await client.query(
      "SELECT ssl, current_setting('max_connections')::int AS connections FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
    );
    await client.end();
    expect(rows[0].ssl).toBe(true);
    expect(rows[0].connections).toBeGreaterThanOrEqual(200);
  });

  it('refuses a wrong password', async () => {
    const url = new URL(server.url);
    url.password = 'wrong';
    const client = new pg.Client({ connectionString: url.href });
    await expect(client.connect()).rejects.toMatchObject({ code: '28P01' });
    await client.end();
  });
});

const bothMysql = [
  ['MariaDB', commands && ((...call: Call) => startMariadb(commands, ...call))],
  ['MySQL', mysqld && ((...call: Call) => startMysql(mysqld, ...call))],
] as const;

describe.each(bothMysql)('the %s of the tests', (name, start) => {
  describe.skipIf(start === undefined)('(needs one that is installed or unpacked)', () => {
    let server: StartedDatabase;
    beforeAll(async () => {
      server = await (start as NonNullable<typeof start>)({ dir, certificates, port: await freePort() });
    });
    afterAll(() => server?.stop());

    it('is the named product, has a certificate of the CA, and accepts many connections', async () => {
      const ssl = { ca: await readFile(server.ca as string, 'utf8') };
      const connection = await mysql.createConnection({ uri: server.url, ssl });
      const [cipher] = await connection.query("SHOW STATUS LIKE 'Ssl_cipher'");
      const [told] = await connection.query('SELECT @@max_connections AS connections, @@version AS version');
      await connection.end();
      expect(cipher).toMatchObject([{ Value: expect.stringMatching(/./) }]);
      const [{ connections, version }] = told as [{ connections: number; version: string }];
      expect(Number(connections)).toBeGreaterThanOrEqual(200);
      expect(/mariadb/i.test(version)).toBe(name === 'MariaDB');
    });

    it('refuses a wrong password', async () => {
      const url = new URL(server.url);
      url.password = 'wrong';
      await expect(mysql.createConnection(url.href)).rejects.toMatchObject({
        code: 'ER_ACCESS_DENIED_ERROR',
      });
    });
  });
});
