/** The tables that the ledger's statements use, and the CPU time of the threads that serve them. */

import { readFileSync } from 'node:fs';
import mysql from 'mysql2/promise';
import pg from 'pg';

export type Engine = 'postgres' | 'mariadb' | 'mysql';

export interface LedgerDatabase {
  engine: Engine;
  /** With the ledger's own database. */
  url: string;
  /** CPU time, in microseconds, of the server's threads that are connected to the database, by their ids. */
  cpuByThread(): Promise<Map<number, number>>;
  close(): Promise<void>;
}

const name = 'bench_ledger';

export const variableOf = (engine: Engine) => `${engine.toUpperCase()}_URL`;

/** Creates the database and its tables if they do not exist. */
export async function openDatabase(engine: Engine, serverUrl: string): Promise<LedgerDatabase> {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return engine === 'postgres' ? openPostgres(serverUrl, url.href) : openMysql(engine, serverUrl, url.href);
}

async function openPostgres(serverUrl: string, url: string): Promise<LedgerDatabase> {
  const server = new pg.Client({ connectionString: serverUrl });
  await server.connect();
  const { rowCount } = await server.query('SELECT FROM pg_database WHERE datname = $1', [name]);
  if (rowCount === 0) await server.query(`CREATE DATABASE ${name}`);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    'CREATE TABLE IF NOT EXISTS ledger_rows (id int PRIMARY KEY, name text, amount numeric(10, 2))',
  );
  await client.query(
    "INSERT INTO ledger_rows SELECT n, 'name ' || n, n * 1.5 FROM generate_series(1, 1000) n ON CONFLICT DO NOTHING",
  );
  await client.end();
  return {
    engine: 'postgres',
    url,
    cpuByThread: async () => {
      const { rows } = await server.query('SELECT pid FROM pg_stat_activity WHERE datname = $1', [name]);
      return cpuOf(rows.map(({ pid }) => pid));
    },
    close: () => server.end(),
  };
}

async function openMysql(engine: Engine, serverUrl: string, url: string): Promise<LedgerDatabase> {
  const server = await mysql.createConnection(serverUrl);
  await server.query(`CREATE DATABASE IF NOT EXISTS ${name}`);
  await server.query(
    `CREATE TABLE IF NOT EXISTS ${name}.ledger_rows (id INT PRIMARY KEY, name TEXT, amount DECIMAL(10, 2))`,
  );
  await server.query(
    `INSERT IGNORE INTO ${name}.ledger_rows WITH RECURSIVE numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000)
     SELECT n, CONCAT('name ', n), n * 1.5 FROM numbers`,
  );
  const threads =
    engine === 'mariadb'
      ? 'SELECT TID AS tid FROM information_schema.PROCESSLIST WHERE DB = ?'
      : 'SELECT THREAD_OS_ID AS tid FROM performance_schema.threads WHERE PROCESSLIST_DB = ?';
  return {
    engine,
    url,
    cpuByThread: async () => {
      const [rows] = await server.query(threads, [name]);
      return cpuOf((rows as { tid: number }[]).map(({ tid }) => Number(tid)));
    },
    close: () => server.end(),
  };
}

/** From Linux (proc, schedstat). A thread that has ended is left out, and so are all of a server elsewhere. */
function cpuOf(threads: readonly number[]): Map<number, number> {
  const known = new Map<number, number>();
  for (const thread of threads) {
    try {
      known.set(thread, Number(readFileSync(`/proc/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1_000);
    } catch {
      // It has ended.
    }
  }
  return known;
}
