/** The table that small executions read. */

import mysql from 'mysql2/promise';
import pg from 'pg';

export type SmallEngine = 'postgres' | 'mariadb' | 'mysql';

export async function setUpSmall(engine: SmallEngine, url: string): Promise<void> {
  if (engine === 'postgres') await setUpPostgres(url);
  else await setUpMysql(url);
}

async function setUpPostgres(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    'CREATE TABLE IF NOT EXISTS bench_one (id int PRIMARY KEY, name text, amount numeric(10, 2))',
  );
  await client.query(
    "INSERT INTO bench_one SELECT n, 'name ' || n, n * 1.5 FROM generate_series(1, 1000) n ON CONFLICT DO NOTHING",
  );
  await client.end();
}

async function setUpMysql(url: string): Promise<void> {
  const connection = await mysql.createConnection(url);
  await connection.query(
    'CREATE TABLE IF NOT EXISTS bench_one (id INT PRIMARY KEY, name TEXT, amount DECIMAL(10, 2))',
  );
  await connection.query(
    `INSERT IGNORE INTO bench_one WITH RECURSIVE numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000)
     SELECT n, CONCAT('name ', n), n * 1.5 FROM numbers`,
  );
  await connection.end();
}
