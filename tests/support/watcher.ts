/** What a database runs at this moment, asked of itself. */

import mysql from 'mysql2/promise';
import pg from 'pg';
import { type DatabaseAccess, processList } from './databases.ts';

/** Looks at the server's list of what runs, and ends a session. */
export interface Watcher {
  running(mark: string): Promise<number>;
  kill(mark: string): Promise<void>;
  close(): Promise<void>;
}

async function watchPostgres(access: DatabaseAccess): Promise<Watcher> {
  const client = new pg.Client(access);
  await client.connect();
  const where = 'FROM pg_stat_activity WHERE query LIKE $1 AND state = $2 AND pid <> pg_backend_pid()';
  return {
    running: async (mark) => (await client.query(`SELECT pid ${where}`, [`%${mark}%`, 'active'])).rows.length,
    kill: async (mark) => {
      await client.query(`SELECT pg_terminate_backend(pid) ${where}`, [`%${mark}%`, 'active']);
    },
    close: () => client.end(),
  };
}

async function watchMysql(engine: string, access: DatabaseAccess): Promise<Watcher> {
  const connection = await mysql.createConnection(access);
  const find = async (mark: string) => {
    const [rows] = await connection.query(
      `SELECT id FROM ${processList(engine)} WHERE info LIKE ? AND command <> 'Sleep' AND id <> CONNECTION_ID()`,
      [`%${mark}%`],
    );
    return (rows as { id: number }[]).map(({ id }) => id);
  };
  return {
    running: async (mark) => (await find(mark)).length,
    kill: async (mark) => {
      for (const id of await find(mark)) await connection.query(`KILL ${id}`);
    },
    close: () => connection.end(),
  };
}

export function watch(engine: string, access: DatabaseAccess): Promise<Watcher> {
  return engine === 'postgres' ? watchPostgres(access) : watchMysql(engine, access);
}
