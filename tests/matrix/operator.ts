/** Direct access to the servers: creates the tables of the checks, and lists running statements. */

import type { EngineName, SqlEngineName } from '@datahub/contract/engines';
import { MongoClient, UUID } from 'mongodb';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { accessOf } from '../support/databases.ts';
import { type Watcher, watch } from '../support/watcher.ts';
import type { Dialect } from './targets.ts';

export interface Names {
  /** Two rows: one with a value in each column, one with nulls. */
  items: string;
  /** The table that checks write to. */
  scratch: string;
  /** Has a column `n` with the numbers 1 to 1,000. */
  numbers: string;
  /** A function that writes, if the server has functions. */
  writer: string;
}

export interface Operator {
  /** Returns the number of running statements whose text contains this mark. */
  running(mark: string): Promise<number>;
  emptyScratch(): Promise<void>;
  /** Removes the created objects and closes the connection. */
  close(): Promise<void>;
}

export const exactAmount = '12345678901234567890.1234';
export const uuid = '6f1e1a3e-3c8b-4c55-9d0e-0f2a54b9f0aa';
export const moment = '2026-11-20T13:04:05.123Z';

const numbersOf = (name: string) =>
  `INSERT INTO ${name} VALUES ${Array.from({ length: 1_000 }, (_, i) => `(${i + 1})`).join(',')}`;

const itemsOf = (name: string, raw: string, at: string) =>
  `INSERT INTO ${name} VALUES (1, 'one', ${exactAmount}, 9007199254740993, 0.1, '${at}', '{"a": [1, "x", null]}', ${raw})`;

const columns = 'id INT PRIMARY KEY, label VARCHAR(200), amount DECIMAL(24, 4), big BIGINT';

const statements: Record<'postgres' | 'mysql', (names: Names) => string[]> = {
  postgres: ({ items, scratch, numbers, writer }) => [
    `CREATE TABLE ${items} (${columns}, ratio DOUBLE PRECISION, at TIMESTAMPTZ, doc JSONB, raw BYTEA)`,
    itemsOf(items, "'\\x00ff'", moment),
    `INSERT INTO ${items} (id) VALUES (2)`,
    `CREATE TABLE ${scratch} (id INT PRIMARY KEY, label VARCHAR(200))`,
    `CREATE TABLE ${numbers} (n INT)`,
    numbersOf(numbers),
    `CREATE FUNCTION ${writer}() RETURNS INT LANGUAGE plpgsql AS $$ BEGIN INSERT INTO ${scratch} VALUES (99, 'x'); RETURN 1; END $$`,
  ],
  mysql: ({ items, scratch, numbers, writer }) => [
    "SET time_zone = '+00:00'",
    `CREATE TABLE ${items} (${columns}, ratio DOUBLE, at TIMESTAMP(3) NULL, doc JSON, raw BLOB)`,
    itemsOf(items, "x'00ff'", '2026-11-20 13:04:05.123'),
    `INSERT INTO ${items} (id) VALUES (2)`,
    `CREATE TABLE ${scratch} (id INT PRIMARY KEY, label VARCHAR(200))`,
    `CREATE TABLE ${numbers} (n INT)`,
    numbersOf(numbers),
    `CREATE FUNCTION ${writer}() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO ${scratch} VALUES (99, 'x'); RETURN 1; END`,
  ],
};

const drops = ({ items, scratch, numbers, writer }: Names, dialect: Dialect) => [
  ...[items, scratch, numbers].map((name) => `DROP TABLE ${name}`),
  `DROP FUNCTION ${writer}${dialect === 'postgres' ? '()' : ''}`,
];

export function openOperator(engine: EngineName, url: URL, names: Names): Promise<Operator> {
  return engine === 'mongodb' ? openMongo(url, names) : openSql(engine, url, names);
}

async function openSql(engine: SqlEngineName, url: URL, names: Names): Promise<Operator> {
  const dialect = engine === 'postgres' ? 'postgres' : 'mysql';
  const run = dialect === 'postgres' ? await connectPostgres(url) : await connectMysql(url);
  for (const text of statements[dialect](names)) await run.query(text);
  const watcher: Watcher = await watch(engine, accessOf(url));
  return {
    running: watcher.running,
    emptyScratch: () => run.query(`DELETE FROM ${names.scratch}`),
    close: async () => {
      for (const text of drops(names, dialect)) await run.query(text);
      await run.close();
      await watcher.close();
    },
  };
}

interface OperatorConnection {
  query(text: string): Promise<void>;
  close(): Promise<void>;
}

async function connectPostgres(url: URL): Promise<OperatorConnection> {
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  const query = async (text: string) => {
    await client.query(text);
  };
  return { query, close: () => client.end() };
}

async function connectMysql(url: URL): Promise<OperatorConnection> {
  const connection = await mysql.createConnection(url.href);
  const query = async (text: string) => {
    await connection.query(text);
  };
  return { query, close: () => connection.end() };
}

async function openMongo(url: URL, names: Names): Promise<Operator> {
  const client = await new MongoClient(url.href).connect();
  const database = client.db(url.pathname.slice(1));
  const one = { label: 'one', big: 9_007_199_254_740_993n, ratio: 0.1, at: new Date(moment) };
  const doc = { a: [1, 'x', null] };
  await database
    .collection<any>(names.items)
    .insertMany([
      { _id: 1, ...one, uuid: new UUID(uuid), flag: true, doc, raw: Buffer.from([0, 255]) },
      ...[{ _id: 2, label: null, big: null, ratio: null, at: null, doc: null, raw: null }],
    ]);
  await database
    .collection(names.numbers)
    .insertMany(Array.from({ length: 1_000 }, (_, i) => ({ n: i + 1 })));
  return {
    running: async () => 0,
    emptyScratch: async () => {
      await database.collection(names.scratch).deleteMany({});
    },
    close: async () => {
      await database.dropDatabase();
      await client.close();
    },
  };
}
