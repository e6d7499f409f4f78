/** Databases of its own for each run of the suite, on each server there is, with the tables that the tests know. */

import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import mysql from 'mysql2/promise';
import pg from 'pg';

export interface DatabaseAccess {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
}

export interface TestDatabases {
  /** By engine: the first of its databases. */
  access: Record<string, DatabaseAccess>;
  /** All of them: for each of `count`, the databases by engine. */
  all: Record<string, DatabaseAccess>[];
  close(): Promise<void>;
}

const variables = { postgres: 'POSTGRES_URL', mariadb: 'MARIADB_URL', mysql: 'MYSQL_URL' };

const tables = [
  'CREATE TABLE sales (id INT PRIMARY KEY, region VARCHAR(50) NOT NULL, amount DECIMAL(18, 2) NOT NULL, note TEXT)',
  `INSERT INTO sales VALUES (1, 'north', 1234567890123456.78, NULL), (2, 'south', 10.5, 'a:b {{c}}'), (3, 'o''hara', 0.01, 'quote')`,
  'CREATE TABLE scratch (id INT PRIMARY KEY, label VARCHAR(200))',
];

/** Creates `count` databases on each server, so that test files that run at the same time share no table. */
export async function createTestDatabases(
  env: Record<string, string | undefined>,
  count = 1,
): Promise<TestDatabases> {
  const names = Array.from({ length: count }, () => `e2e_${randomBytes(6).toString('hex')}`);
  const made = Object.entries(variables).flatMap(([engine, variable]) => {
    const url = env[variable];
    return url === undefined ? [] : [{ engine, url: new URL(url) }];
  });
  const onEach = async (forPostgres: Step, forMysql: Step) => {
    for (const { engine, url } of made)
      for (const name of names) await (engine === 'postgres' ? forPostgres : forMysql)(url, name);
  };
  await onEach(setUpPostgres, setUpMysql);
  const all = names.map((name) =>
    Object.fromEntries(made.map(({ engine, url }) => [engine, { ...accessOf(url), database: name }])),
  );
  return { access: all[0] ?? {}, all, close: () => onEach(dropPostgres, dropMysql) };
}

type Step = (url: URL, name: string) => Promise<void>;

/** The connection settings that a URL contains. */
export function accessOf(url: string | URL): DatabaseAccess {
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    host: hostname,
    port: Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: pathname.slice(1),
  };
}

async function setUpPostgres(url: URL, name: string): Promise<void> {
  await inPostgres(url, [`CREATE DATABASE ${name}`]);
  const own = new URL(url);
  own.pathname = `/${name}`;
  await inPostgres(own, [
    ...tables,
    `CREATE FUNCTION write_row(n int) RETURNS int LANGUAGE sql AS
       $$ INSERT INTO scratch (id, label) VALUES (n, 'x') RETURNING 1 $$`,
  ]);
}

const dropPostgres = (url: URL, name: string) => inPostgres(url, [`DROP DATABASE ${name} WITH (FORCE)`]);

async function inPostgres(url: URL, statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

async function setUpMysql(url: URL, name: string): Promise<void> {
  const writes = 'INSERT INTO scratch (id, label) VALUES (99, "x")';
  await inMysql(url, [
    `CREATE DATABASE ${name}`,
    `USE ${name}`,
    ...tables,
    `CREATE FUNCTION write_scratch() RETURNS INT MODIFIES SQL DATA BEGIN ${writes}; RETURN 1; END`,
    `CREATE FUNCTION write_row(n INT) RETURNS INT MODIFIES SQL DATA
       BEGIN INSERT INTO scratch (id, label) VALUES (n, "x"); RETURN 1; END`,
  ]);
}

const dropMysql = (url: URL, name: string) => inMysql(url, [`DROP DATABASE ${name}`]);

async function inMysql(url: URL, statements: string[]): Promise<void> {
  const { host, port, user, password } = accessOf(url);
  const connection = await mysql.createConnection({ host, port, user, password });
  for (const statement of statements) await connection.query(statement);
  await connection.end();
}

/**
 * Whether the store at a URL may lose one of two concurrent updates. FerretDB 1 reads, changes and writes a document
 * without a lock, so two processes can overwrite each other's update.
 */
export async function losesUpdates(url: string | undefined): Promise<boolean> {
  const client = await new MongoClient(url ?? '').connect();
  try {
    return 'ferretdbVersion' in (await client.db().admin().buildInfo());
  } finally {
    await client.close();
  }
}

/** Runs statements past the hub, such as CREATE PROCEDURE. */
export async function operateOn(access: DatabaseAccess, engine: string, statements: string[]): Promise<void> {
  if (engine === 'postgres') {
    const client = new pg.Client({ ...access, options: '-c TimeZone=UTC' });
    await client.connect();
    for (const text of statements) await client.query(text);
    await client.end();
  } else {
    const connection = await mysql.createConnection({ ...access });
    for (const text of statements) await connection.query(text);
    await connection.end();
  }
}

/** MySQL's older list fails while any session runs a statement with an emoji. MariaDB has only that one. */
export const processList = (engine: string): string =>
  engine === 'mysql' ? 'performance_schema.processlist' : 'information_schema.processlist';
