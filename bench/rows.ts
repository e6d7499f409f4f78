/** A million rows of six columns as JSON over HTTP, against a hand-written endpoint: time, first byte, memory. */

import { fileURLToPath } from 'node:url';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { v8Flags } from '../packages/service-kit/v8-flags.mjs';
import { startServer } from './support/child.ts';
import { once } from './support/load.ts';
import { printHead, printRow } from './support/table.ts';

const count = Number(process.env.BENCH_ROWS ?? 1_000_000);
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
/** Runs of both before the first measured one, because V8 is still compiling in a new process. */
const warmUps = 3;
const path = (name: string) => fileURLToPath(new URL(`support/${name}.ts`, import.meta.url));

async function setUpPostgres(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('DROP TABLE IF EXISTS bench_rows');
  await client.query(
    `CREATE TABLE bench_rows AS SELECT n AS id, 'customer number ' || n AS name, (n::bigint * 7919 % 100000) / 100.0 AS amount,
     timestamptz '2026-01-01' + n * interval '1 second' AS at, n % 2 = 0 AS active, md5(n::text) AS note
     FROM generate_series(1, ${count}) n`,
  );
  await client.query('ANALYZE bench_rows');
  await client.end();
}

/** MySQL has no generate_series. */
const numbers = {
  mariadb: `SELECT seq AS n FROM seq_1_to_${count}`,
  mysql: `WITH RECURSIVE numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count}) SELECT n FROM numbers`,
};

async function setUpMysql(url: string, engine: keyof typeof numbers): Promise<void> {
  const connection = await mysql.createConnection(url);
  await connection.query('DROP TABLE IF EXISTS bench_rows');
  if (engine === 'mysql') await connection.query(`SET cte_max_recursion_depth = ${count}`);
  await connection.query(
    `CREATE TABLE bench_rows (id INT, name VARCHAR(50), amount DECIMAL(10, 2), at TIMESTAMP, active TINYINT, note CHAR(32))
     SELECT n AS id, CONCAT('customer number ', n) AS name, (n * 7919 % 100000) / 100 AS amount,
     TIMESTAMP('2026-01-01') + INTERVAL n SECOND AS at, n % 2 = 0 AS active, LEFT(SHA2(n, 256), 32) AS note FROM (${numbers[engine]}) AS numbered`,
  );
  await connection.end();
}

async function compare(
  engine: 'postgres' | 'mariadb' | 'mysql',
  url: string,
  form: 'single' | 'distributed',
): Promise<void> {
  const byHand = await startServer(path('by-hand'), [engine, url, 'large']);
  const hub = await startServer(path('hub'), [engine, url, 'large', form], v8Flags);
  const before = await hub.memory();
  const pairs: { ours: number; baseline: number }[] = [];
  const firsts: number[] = [];
  let most = before;
  for (let i = 0; i < warmUps; i++) {
    await once(byHand);
    await once(hub);
  }
  for (let round = 0; round < rounds; round++) {
    const baseline = await once(byHand);
    const watch = setInterval(async () => {
      most = Math.max(most, await hub.memory());
    }, 50);
    const ours = await once(hub);
    clearInterval(watch);
    firsts.push(ours.firstByteMs);
    pairs.push({ ours: count / ours.ms, baseline: count / baseline.ms });
    process.stdout.write(
      `  ${engine} ${form}: ${(ours.ms / 1_000).toFixed(2)} s against ${(baseline.ms / 1_000).toFixed(2)} s, first byte ${ours.firstByteMs.toFixed(0)} ms against ${baseline.firstByteMs.toFixed(0)}, ${(ours.bytes / 1e6).toFixed(0)} MB\n`,
    );
  }
  await Promise.all([byHand.stop(), hub.stop()]);
  const goal = engine === 'postgres' && form === 'single' ? 5.5 : 3.5;
  printRow({ name: `${engine}, ${form}: speed`, unit: 'rows/ms', pairs, better: 'higher', goal });
  process.stdout.write(
    `${''.padEnd(44)}first byte ${Math.max(...firsts).toFixed(0)} ms at most; memory of all processes grew by ${(most - before).toFixed(0)} MiB\n`,
  );
}

printHead(`${count.toLocaleString('en')} rows × 6 columns, against a hand-written endpoint`);
const servers: ['postgres' | 'mariadb' | 'mysql', string | undefined, (url: string) => Promise<void>][] = [
  ['postgres', process.env.POSTGRES_URL, setUpPostgres],
  ['mariadb', process.env.MARIADB_URL, (url) => setUpMysql(url, 'mariadb')],
  ['mysql', process.env.MYSQL_URL, (url) => setUpMysql(url, 'mysql')],
];
for (const [engine, url, setUp] of servers) {
  if (url === undefined)
    process.stdout.write(`rows: ${engine} skipped, because its URL is not in the environment.\n`);
  else {
    await setUp(url);
    for (const form of ['single', 'distributed'] as const) await compare(engine, url, form);
  }
}
