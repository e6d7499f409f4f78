import { describe, expect, it } from 'vitest';
import { createMysqlEngine } from '../../src/engines/mysql/index.ts';
import { createPostgresEngine } from '../../src/engines/postgres/index.ts';
import type { RowSink } from '../../src/ports/row-sink.ts';
import { ask, dial, settingsOf } from '../fixture.ts';

const servers = [
  ['postgres', process.env.POSTGRES_URL, createPostgresEngine],
  ['mariadb', process.env.MARIADB_URL, createMysqlEngine],
  ['mysql', process.env.MYSQL_URL, createMysqlEngine],
] as const;

/** Behind from the second row on, and never heard of again. */
function createLostSink(): RowSink & { rows: number } {
  return {
    rows: 0,
    takesDocuments: true,
    takesBinary: false,
    truncated: false,
    get full() {
      return this.rows >= 2;
    },
    begin: () => {},
    row() {
      this.rows++;
    },
    document: () => {},
    onDrain: () => {},
  };
}

describe.each(servers)('a connection to %s', (name, url, createEngine) => {
  it.skipIf(url === undefined)(
    'serves the next execution when the last one ended before its reader caught up (needs its URL in the environment)',
    async () => {
      const deps = { dial, signal: AbortSignal.timeout(60_000) };
      const connection = await createEngine().connect(settingsOf(name, url as string), deps);
      const text = 'SELECT 1 AS one UNION ALL SELECT 2';
      const statement = { key: text, text, params: [], kind: 'read' as const };
      const lost = createLostSink();
      await connection.run(statement, lost, { statementTimeoutMs: 2_000 });
      expect(lost.rows).toBe(2);
      expect((await ask(connection, 'SELECT 3 AS three', { statementTimeoutMs: 2_000 })).data).toEqual([
        { three: 3 },
      ]);
      connection.close();
    },
    5_000,
  );
});
