/** A server behind a pooler is replaced, and its types have other ids than before. The connection of the hub stays. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCertificates } from '../../../../../tools/databases/certificates.ts';
import {
  findPgbouncer,
  type StartedPooler,
  startPgbouncer,
} from '../../../../../tools/databases/pgbouncer.ts';
import { createPostgresEngine } from '../../../src/engines/postgres/index.ts';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, dial, settingsOf } from '../../fixture.ts';

const { POSTGRES_URL: first, POSTGRES18_URL: second } = process.env;
const program = findPgbouncer();
const here = first !== undefined && second !== undefined && program !== undefined;
const name = `moved_${randomUUID().replaceAll('-', '').slice(0, 12)}`;

const types: Record<string, string> = {
  mood: "CREATE TYPE mood AS ENUM ('a', 'b')",
  dj: 'CREATE DOMAIN dj AS jsonb',
  pair: 'CREATE TYPE pair AS (x int, y text)',
  dts: 'CREATE DOMAIN dts AS timestamptz',
};

/** Makes the same database at a server, with the types in another order. */
async function prepare(url: string, order: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE ROLE ${name} LOGIN PASSWORD 'moved'`);
  await client.query(`CREATE DATABASE ${name} OWNER ${name}`);
  await client.end();
  const own = new pg.Client({ connectionString: Object.assign(new URL(url), { pathname: name }).href });
  await own.connect();
  for (const one of order) await own.query(types[one] as string);
  await own.query('CREATE TABLE t (m mood, ms mood[], js dj[], p pair, ts dts[])');
  await own.query(
    `INSERT INTO t VALUES ('a', '{a,b}', ARRAY['{"k": 1}']::dj[], '(1,z)', '{2026-01-01T00:00:00Z}')`,
  );
  await own.query(`GRANT ALL ON t TO ${name}`);
  await own.end();
}

async function dropAll(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
  await client.query(`DROP ROLE ${name}`);
  await client.end();
}

describe.skipIf(!here)(
  'a server behind a pooler that is replaced (needs POSTGRES_URL, POSTGRES18_URL and PgBouncer)',
  () => {
    let dir: string;
    let relay: Server;
    let target = Number(new URL(first ?? 'http://a').port);
    const sockets = new Set<Socket>();
    let pooler: StartedPooler;
    let connection: Connection;
    beforeAll(async () => {
      await prepare(first as string, ['mood', 'dj', 'pair', 'dts']);
      await prepare(second as string, ['dts', 'pair', 'dj', 'mood']);
      relay = createServer((socket) => {
        const server = connect(target, '127.0.0.1');
        for (const one of [socket, server]) {
          sockets.add(one);
          one
            .on('error', () => {})
            .on('close', () => {
              socket.destroy();
              server.destroy();
            });
        }
        socket.pipe(server).pipe(socket);
      });
      await once(relay.listen(0, '127.0.0.1'), 'listening');
      dir = await mkdtemp(join(tmpdir(), 'datahub-moved-'));
      // PgBouncer runs as another user.
      await chmod(dir, 0o755);
      const { port } = relay.address() as AddressInfo;
      pooler = await startPgbouncer(program as string, {
        dir,
        port: await freePort(),
        certificates: await createCertificates(dir),
        postgresUrl: `postgres://${name}:moved@127.0.0.1:${port}/${name}`,
      });
      const settings = settingsOf('postgres', pooler.urls.PGBOUNCER_TRANSACTION_URL as string);
      connection = await createPostgresEngine().connect(
        { ...settings, pooling: 'transaction' },
        { dial, signal: AbortSignal.timeout(60_000) },
      );
    });
    afterAll(async () => {
      connection?.close();
      await pooler?.stop();
      relay?.close();
      for (const url of [first, second]) await dropAll(url as string);
      await rm(dir, { recursive: true, force: true });
    });

    /** The sessions at the server end, and new ones are at the other server. */
    const move = () => {
      target = Number(
        new URL((target === Number(new URL(first as string).port) ? second : first) as string).port,
      );
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    };
    const row = { m: 'a', ms: ['a', 'b'], js: [{ k: 1 }], ts: ['2026-01-01T00:00:00.000Z'] };
    const read = async () => (await ask(connection, 'SELECT m, ms, js, ts FROM t')).data;

    it('is read with the types that it has', async () => {
      for (let i = 0; i < 4; i++) {
        expect(await read()).toEqual([row]);
        expect(await read()).toEqual([row]);
        move();
      }
    });

    it('gets each write once, and gives back its rows with the types that it has', async () => {
      const text = "UPDATE t SET p.x = (p).x + 1 WHERE m = 'a' RETURNING m, ms, js, ts";
      const count = async () => (await ask(connection, 'SELECT (p).x AS x FROM t')).data[0]?.x as number;
      for (let i = 0; i < 4; i++) {
        const before = await count();
        expect((await ask(connection, text, { kind: 'write' })).data).toMatchObject([row]);
        expect(await count()).toBe(before + 1);
        move();
        const other = await count();
        expect((await ask(connection, text, { kind: 'write' })).data).toMatchObject([row]);
        expect(await count()).toBe(other + 1);
      }
    });
  },
);
