/** The databases' own tools name the stored query of each statement. */

import { randomBytes } from 'node:crypto';
import type { RowDataPacket } from 'mysql2';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DatabaseAccess } from '../support/databases.ts';
import { api, database, engines, sourceBody } from '../support/hub.ts';

const queryCount = 100;
const named = /\/\*datahub query=([\w.-]+)\*\//;

/**
 * Stores and runs queries that also differ without their constants and names of columns, from each other and, by their
 * table, from those of other runs. Resolves to their ids.
 */
async function runQueries(hubId: string, sourceId: string, table: string): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 1; i <= queryCount; i++) {
    const columns = Array.from({ length: i }, (_, j) => `${j} AS c${i}_${j}`).join(', ');
    const body = { hubId, sourceId, label: `comment ${i}`, query: `SELECT ${columns} FROM ${table}` };
    ids.push((await api.ok(api.post('/v1/queries', body))).config.query.queryId);
  }
  for (const queryId of ids) await api.ok(api.post('/v1/queries/execute', { queryId }));
  return ids;
}

const namesIn = (texts: string[]): string[] => texts.flatMap((text) => named.exec(text)?.[1] ?? []);

interface Tool {
  run(statement: string): Promise<unknown>;
  /** Resolves to false if the server does not have the tool. */
  begin(): Promise<boolean>;
  texts(): Promise<string[]>;
  end?(): Promise<void>;
}

const open = ({ host, port, user, password, database: name }: DatabaseAccess) =>
  mysql.createConnection({ host, port, user, password, database: name });
async function inMysql(access: DatabaseAccess, ...statements: string[]): Promise<RowDataPacket[]> {
  const connection = await open(access);
  try {
    let rows: RowDataPacket[] = [];
    for (const statement of statements) [rows] = await connection.query<RowDataPacket[]>(statement);
    return rows;
  } finally {
    await connection.end();
  }
}
async function inPostgres(access: DatabaseAccess, statement: string) {
  const client = new pg.Client(access);
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

const tools: Record<string, (access: DatabaseAccess) => Tool> = {
  postgres: (access) => ({
    run: (statement) => inPostgres(access, statement),
    begin: async () => {
      const [row] = await inPostgres(access, 'SHOW shared_preload_libraries');
      if (!row.shared_preload_libraries.includes('pg_stat_statements')) return false;
      await inPostgres(access, 'CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
      return true;
    },
    texts: async () =>
      (await inPostgres(access, 'SELECT query FROM pg_stat_statements')).map(({ query }) => query),
  }),
  mysql: (access) => ({
    run: (statement) => inMysql(access, statement),
    begin: async () => {
      await inMysql(access, 'TRUNCATE TABLE performance_schema.events_statements_summary_by_digest');
      return true;
    },
    texts: async () => {
      const digests =
        'SELECT query_sample_text AS text FROM performance_schema.events_statements_summary_by_digest';
      return (await inMysql(access, digests)).map(({ text }) => text ?? '');
    },
  }),
  mariadb: (access) => ({
    run: (statement) => inMysql(access, statement),
    begin: async () => {
      await inMysql(
        access,
        "SET GLOBAL log_output = 'TABLE'",
        'SET GLOBAL slow_query_log = ON',
        'SET GLOBAL long_query_time = 0',
      );
      return true;
    },
    texts: async () =>
      (await inMysql(access, 'SELECT CONVERT(sql_text USING utf8mb4) AS text FROM mysql.slow_log')).map(
        ({ text }) => text,
      ),
    end: async () => {
      await inMysql(
        access,
        'SET GLOBAL long_query_time = 10',
        'SET GLOBAL slow_query_log = OFF',
        "SET GLOBAL log_output = 'FILE'",
        'TRUNCATE TABLE mysql.slow_log',
      );
    },
  }),
};

describe.each(engines)('the tools of %s', (engine) => {
  let hubId: string;
  const tool = tools[engine]?.(database(engine)) as Tool;
  const table = `commented_${randomBytes(6).toString('hex')}`;
  let isThere = false;
  beforeAll(async () => {
    await tool.run(`CREATE TABLE ${table} (a int)`);
    isThere = await tool.begin();
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `comments ${engine}` })));
  });
  afterAll(async () => {
    await tool.end?.();
    await tool.run(`DROP TABLE ${table}`);
  });

  it('name every query that ran, unless its source says no', async ({ skip }) => {
    if (!isThere) skip('the server does not load pg_stat_statements');
    const { sourceId } = await api.ok(api.post('/v1/sources', sourceBody(hubId, engine)));
    const ids = await runQueries(hubId, sourceId, table);
    expect([...new Set(namesIn(await tool.texts()))]).toEqual(expect.arrayContaining(ids));

    await api.ok(api.put(`/v1/sources/${sourceId}`, { connectionSettings: { statementComments: 'off' } }));
    const body = { hubId, sourceId, label: 'silent', query: "SELECT upper('a') AS silent_one" };
    const { queryId } = (await api.ok(api.post('/v1/queries', body))).config.query;
    await api.ok(api.post('/v1/queries/execute', { queryId }));
    const texts = await tool.texts();
    expect(texts.some((text) => text.includes('silent_one'))).toBe(true);
    expect(namesIn(texts)).not.toContain(queryId);
  });
});
