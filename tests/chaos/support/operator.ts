import mysql from 'mysql2/promise';
import pg from 'pg';
import type { DatabaseAccess } from '../../support/databases.ts';

/** A session past the hub that makes writes of an id wait, until it releases the id. */
export interface Operator {
  hold(id: number): Promise<void>;
  release(): Promise<void>;
  close(): Promise<void>;
}

export async function openOperator(engine: string, access: DatabaseAccess): Promise<Operator> {
  const postgres = new pg.Client(access);
  if (engine === 'postgres') await postgres.connect();
  const client: { query(text: string): Promise<unknown>; end(): Promise<void> } =
    engine === 'postgres' ? postgres : await mysql.createConnection({ ...access });
  const run = async (text: string) => void (await client.query(text));
  return {
    hold: async (id) => {
      await run('BEGIN');
      await run(`INSERT INTO scratch (id) VALUES (${id})`);
    },
    release: () => run('ROLLBACK'),
    close: () => client.end(),
  };
}
