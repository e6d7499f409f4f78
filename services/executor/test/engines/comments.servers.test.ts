/** Statements carry comments, which the database's own tools show, and errors have the place in the statement alone. */

import type { EngineName } from '@datahub/contract/engines';
import { describe, expect, it } from 'vitest';
import { processList } from '../../../../tests/support/databases.ts';
import { createEngines } from '../../src/engines/index.ts';
import type { Connection, Statement } from '../../src/ports/engine.ts';
import { ask, dial, settingsOf } from '../fixture.ts';

const comment = 'datahub query=h.queries.1';
const ofMysql = (engine: string) =>
  `SELECT info AS text FROM ${processList(engine)} WHERE id = connection_id()`;
const own: Record<string, string> = {
  postgres: 'SELECT query AS text FROM pg_stat_activity WHERE pid = pg_backend_pid()',
  mysql: ofMysql('mysql'),
  mariadb: ofMysql('mariadb'),
};
const inFront = `/*${comment}*/ `;
const behind = `\n/*${comment}*/`;
const { env } = process;
const servers: [string, EngineName, string | undefined, { isInFront: boolean; pooling?: 'transaction' }][] = [
  ['PostgreSQL', 'postgres', env.POSTGRES_URL, { isInFront: true }],
  ['PostgreSQL 18', 'postgres', env.POSTGRES18_URL, { isInFront: false }],
  ['Pgpool-II', 'postgres', env.PGPOOL_URL, { isInFront: false }],
  ['PgBouncer', 'postgres', env.PGBOUNCER_URL, { isInFront: false }],
  [
    'PgBouncer in transaction mode',
    'postgres',
    env.PGBOUNCER_TRANSACTION_URL,
    { isInFront: false, pooling: 'transaction' },
  ],
  ['MySQL', 'mysql', env.MYSQL_URL, { isInFront: true }],
  ['MariaDB', 'mariadb', env.MARIADB_URL, { isInFront: true }],
];

for (const [name, engine, url, { isInFront, pooling }] of servers) {
  describe.skipIf(url === undefined)(`statements at ${name}`, () => {
    const text = own[engine] as string;
    const use = async <T>(comments: boolean, work: (connection: Connection) => Promise<T>): Promise<T> => {
      const settings = { ...settingsOf(engine, url as string), pooling };
      const deps = { dial, comments, signal: AbortSignal.timeout(60_000) };
      const connection = await createEngines()[engine].connect(settings, deps);
      try {
        return await work(connection);
      } finally {
        connection.close();
      }
    };
    const run = (connection: Connection, sql: string, kind: Statement['kind'] = 'read') =>
      ask(connection, sql, { kind, comment });

    it(`carry the comment ${isInFront ? 'in front' : 'behind'}, each time they run`, async () => {
      const expected = isInFront ? inFront + text : text + behind;
      const shown = await use(true, async (connection) => [
        await run(connection, text),
        await run(connection, text),
      ]);
      for (const { data } of shown) expect(Object.values(data[0] ?? {})).toEqual([expected]);
    });

    it('carry none if comments are off', async () => {
      const { data } = await use(false, (connection) => run(connection, text));
      expect(Object.values(data[0] ?? {})).toEqual([text]);
    });

    it.each(['read', 'write'] as const)('report faults of a %s at their places', async (kind) => {
      const faults = await use(true, async (connection) => [
        await run(connection, 'SELECT 1\n  FORM nowhere', kind).catch((err) => err.sql),
        await run(connection, '\n SELECT no_such_column', kind).catch((err) => err.sql),
        await run(connection, 'SELECT 1 -- ends in a comment', kind).then(() => 'ran'),
      ]);
      expect(faults).toEqual([
        expect.objectContaining({ line: 2, column: 8 }),
        expect.objectContaining({ line: 2, column: 9 }),
        'ran',
      ]);
    });
  });
}
