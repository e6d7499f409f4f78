import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCertificates, idOfUser } from '../../../../../tools/databases/certificates.ts';
import {
  findPostgres,
  type StartedDatabase,
  startPostgres,
} from '../../../../../tools/databases/postgres.ts';
import { startServer } from '../../../../../tools/databases/process.ts';
import type { Connection, TransactionName, Transactions } from '../../../src/ports/engine.ts';
import { ask, connect } from '../../fixture.ts';

const bin = await findPostgres();

describe.skipIf(bin === undefined)(
  'a transaction whose server crashed or gave way to a standby (needs PostgreSQL)',
  () => {
    let dir: string;
    let server: StartedDatabase;
    const of = ({ transactions }: Connection) => transactions as Required<Transactions>;
    const write = (connection: Connection, text: string) => ask(connection, text, { kind: 'standalone' });

    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), 'datahub-crash-'));
      await chmod(dir, 0o755);
      const certificates = await createCertificates(join(dir, 'certificates'));
      server = await startPostgres(bin as string, { dir, certificates, port: await freePort() });
    });
    afterAll(async () => {
      await server?.stop();
      await rm(dir, { recursive: true, force: true });
    });

    it('has an unknown end, because the server gives its id to another one', async () => {
      const connection = await connect('postgres', server.url);
      await write(connection, 'CREATE TABLE t (id int)');
      await write(connection, 'CHECKPOINT');
      await of(connection).begin({ readOnly: false, statementTimeoutMs: 10_000 });
      const options = { kind: 'write', inTransaction: true } as const;
      await ask(connection, 'INSERT INTO t VALUES (1)', options);
      const { data } = await ask(connection, 'SELECT pg_backend_pid() AS pid', options);
      const name = (await of(connection).name()) as TransactionName;
      process.kill(Number(data[0]?.pid), 'SIGKILL');
      const after = await untilConnected();
      for (let last = 0n; last <= BigInt(name.id); ) {
        await write(after, 'INSERT INTO t VALUES (2)');
        const { data } = await ask(after, 'SELECT max(xmin::text::int8) AS id FROM t');
        last = BigInt(String(data[0]?.id));
      }
      const { data: rows } = await ask(
        after,
        `SELECT txid_status(${name.id}) AS status, min(id) AS id FROM t`,
      );
      expect(rows).toEqual([{ status: 'committed', id: 2 }]);
      expect(await of(after).endOf(name)).toBe('unknown');
      for (const one of [connection, after]) one.close();
    });

    it('has an unknown end at a promoted standby, from the first moment', async () => {
      const before = await connect('postgres', server.url);
      await write(before, 'CREATE TABLE u AS SELECT generate_series(1, 300000) AS id');
      await of(before).begin({ readOnly: false, statementTimeoutMs: 10_000 });
      await ask(before, 'INSERT INTO t VALUES (3)', { kind: 'write', inTransaction: true });
      const name = (await of(before).name()) as TransactionName;
      await of(before).rollBack();
      expect(await of(before).endOf(name)).toBe('aborted');
      before.close();
      await server.stop();
      const standby = await restartAsStandby();
      // Leaves pages that the checkpoint after the promotion takes its time for.
      await ask(standby, 'SELECT count(*) FROM u');
      await ask(standby, 'SELECT pg_promote()');
      expect(await of(standby).endOf(name)).toBe('unknown');
      standby.close();
    });

    async function restartAsStandby(): Promise<Connection> {
      const data = join(dir, 'postgres', 'data');
      await writeFile(join(data, 'standby.signal'), '');
      const user = await idOfUser('postgres');
      const port = Number(new URL(server.url).port);
      const settings = [
        'listen_addresses=127.0.0.1',
        'unix_socket_directories=',
        'max_connections=300',
        'fsync=off',
      ];
      const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
      const command = join(bin as string, 'postgres');
      const started = await startServer({
        command,
        args,
        port,
        timeoutMs: 30_000,
        ...(user ? { user } : {}),
      });
      server = { ...server, ...started };
      return untilConnected();
    }

    /** Until its recovery has ended, the server refuses connections. */
    async function untilConnected(): Promise<Connection> {
      const deadline = performance.now() + 30_000;
      for (;;) {
        try {
          const connection = await connect('postgres', server.url);
          await ask(connection, 'SELECT 1');
          return connection;
        } catch (err) {
          if (performance.now() > deadline) throw err;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
    }
  },
);
