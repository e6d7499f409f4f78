/** A PostgreSQL source with several hosts: which one takes a connection. */

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { HubError } from '@datahub/service-kit/call/error';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createPostgresEngine } from '../../../src/engines/postgres/index.ts';
import type { Connection, ConnectSettings, SourceFacts } from '../../../src/ports/engine.ts';
import { ask, dial, settingsOf } from '../../fixture.ts';

const url = process.env.POSTGRES_URL;
const engine = createPostgresEngine();

describe.skipIf(url === undefined)('a PostgreSQL source with several hosts (needs POSTGRES_URL)', () => {
  const settings = settingsOf('postgres', url ?? 'postgres://none');
  const { host, port } = settings;
  const closed = { host: '127.0.0.1', port: 1 };
  const opened: Connection[] = [];
  const dialled: string[] = [];
  const readOnly = `read_only_${randomUUID().slice(0, 8)}`;
  const operator = new pg.Client({ connectionString: url });
  const connect = async (more: Partial<ConnectSettings>, facts: SourceFacts = {}) => {
    dialled.length = 0;
    const watched = (to: string, at: number) => {
      dialled.push(`${to}:${at}`);
      return dial(to, at);
    };
    const deps = { dial: watched, signal: AbortSignal.timeout(20_000), facts };
    const connection = await engine.connect({ ...settings, ...more }, deps);
    opened.push(connection);
    return connection;
  };
  beforeAll(async () => {
    await operator.connect();
    await operator.query(`CREATE DATABASE ${readOnly}`);
    await operator.query(`ALTER DATABASE ${readOnly} SET default_transaction_read_only = on`);
  });
  afterEach(() => {
    for (const connection of opened.splice(0)) connection.close();
  });
  afterAll(async () => {
    await operator.query(`DROP DATABASE ${readOnly} WITH (FORCE)`);
    await operator.end();
  });

  it('goes on to the next if one does not answer, and begins there the next time', async () => {
    const facts: SourceFacts = {};
    const several = { ...closed, hosts: [{ host, port }] };
    expect((await ask(await connect(several, facts), 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
    expect(dialled[0]).toBe('127.0.0.1:1');
    await connect(several, facts);
    expect(new Set(dialled)).toEqual(new Set([`${host}:${port}`]));
  });

  it('finds the one behind many that cannot be reached', async () => {
    const hosts = [
      ...Array.from({ length: 20 }, (_, i) => ({ host: '127.0.0.1', port: 2 + i })),
      { host, port },
    ];
    const connection = await connect({ ...closed, hosts });
    expect((await ask(connection, 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
    await expect(connect({ ...closed, hosts: Array(50).fill(closed) })).rejects.toMatchObject({
      code: 'SOURCE_UNREACHABLE',
    });
  });

  it('leaves a silent server in time for the others', async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port: silentPort } = silent.address() as { port: number };
    await connect({ host: '127.0.0.1', port: silentPort, hosts: [{ host, port }] });
    expect(dialled).toEqual([`127.0.0.1:${silentPort}`, `${host}:${port}`]);
    silent.close();
  });

  it('does not try a refused log-in at the next', async () => {
    const wrong = connect({ password: 'wrong', hosts: [{ host, port }, closed] });
    await expect(wrong).rejects.toMatchObject({ code: 'SOURCE_AUTH' });
    expect(dialled).not.toContain('127.0.0.1:1');
  });

  it.each(['any', 'primary', 'read-write', 'prefer-standby'] as const)(
    'takes a primary that writes where %s is asked for',
    async (targetSessionAttrs) => {
      const connection = await connect({ targetSessionAttrs });
      expect((await ask(connection, 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
    },
  );

  it.each([
    ['standby', undefined],
    ['read-only', undefined],
    ['read-write', readOnly],
  ] as const)('refuses %s where no server is that (database %s)', async (targetSessionAttrs, database) => {
    const refused = connect({ targetSessionAttrs, ...(database === undefined ? {} : { database }) });
    await expect(refused).rejects.toMatchObject({
      code: 'SOURCE_UNREACHABLE',
      message: `No reachable server of the source matches targetSessionAttrs: ${targetSessionAttrs}.`,
    });
  });

  it('says that a server accepted the log-in which does not match, and goes on where the hub refuses one', async () => {
    let accepted = 0;
    const full = new HubError('SOURCE_AUTH', 'Too many log-ins have failed.', { retryable: true });
    const guarded = async (to: string, at: number) => {
      if (at === closed.port) throw full;
      return await dial(to, at);
    };
    const deps = { dial: guarded, signal: AbortSignal.timeout(20_000), accepted: () => accepted++ };
    const several = { ...settings, ...closed, hosts: [{ host, port }] };
    const standby = engine.connect({ ...several, targetSessionAttrs: 'standby' }, deps);
    await expect(standby).rejects.toBe(full);
    expect(accepted).toBe(1);
    opened.push(await engine.connect(several, deps));
  });

  it('takes a server that only reads where read-only is asked for, and leaves it when a write is refused there', async () => {
    const connection = await connect({ targetSessionAttrs: 'read-only', database: readOnly });
    await ask(connection, 'SELECT 1 AS one');
    expect(connection.broken).toBe(false);
    await expect(ask(connection, 'CREATE TABLE t (id int)', { kind: 'standalone' })).rejects.toMatchObject({
      code: 'SQL_REJECTED',
    });
    expect(connection.broken).toBe(true);
  });
});
