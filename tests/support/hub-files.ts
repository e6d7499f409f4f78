/** The example of docs/examples/shop as a user has it: in a directory of its own, for a hub and a table of its own. */

import { randomBytes } from 'node:crypto';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { afterAll, inject } from 'vitest';
import { createDatahub, type Datahub } from './datahub.ts';
import { api, database } from './hub.ts';

const { url, key } = inject('hub');

interface Place {
  datahub: Datahub;
  /** Ends the names of what the tests of a file create. */
  suffix: string;
  closing: (() => Promise<unknown>)[];
}

/** A directory for the tests of a file, which remove what they created in it and elsewhere. */
export async function openPlace() {
  const suffix = randomBytes(4).toString('hex');
  const place: Place = { datahub: await createDatahub({}), suffix, closing: [] };
  afterAll(async () => {
    for (const close of place.closing.toReversed()) await close();
    await place.datahub.close();
  });
  return {
    ...place,
    copyExample: (name: string, engine: string) => copyExample(name, engine, place),
    withTable: (engine: string, table: string) => withTable(engine, table, place),
  };
}

const example = fileURLToPath(new URL('../../docs/examples/shop', import.meta.url));

async function copyExample(name: string, engine: string, { datahub, suffix, closing }: Place) {
  const dir = join(datahub.dir, name);
  const table = `orders_${name.replaceAll('-', '_')}_${suffix}`;
  const path = `shop-${name}-${suffix}`;
  await cp(example, dir, { recursive: true });
  const change = async (file: string, edit: (text: string) => string) =>
    writeFile(join(dir, file), edit(await readFile(join(dir, file), 'utf8')));
  await change('hub.yaml', (text) =>
    text
      .replace('hub: shop', `hub: ${path}`)
      .replace('engine: postgres', `engine: ${engine}`)
      .replace('Shop tickets', `Tickets ${path}`),
  );
  for (const file of await queryFiles(dir))
    await change(file, (text) =>
      text
        .replaceAll(/(FROM|UPDATE) orders/g, `$1 ${table}`)
        .replace('shop_orders', `shop_${name}_${suffix}`),
    );
  const { host, port, user, password, database: db } = database(engine);
  const env = {
    ...{ DATAHUB_URL: url, DATAHUB_API_KEY: key, SHOP_DB_HOST: host, SHOP_DB_PORT: String(port) },
    ...{ SHOP_DB_NAME: db, SHOP_DB_USER: user, SHOP_DB_PASSWORD: password },
  };
  const run = (...args: string[]) => datahub.run([args[0] ?? '', dir, ...args.slice(1)], { env });
  closing.push(async () => {
    const hubs = (await api.get('/v1/hubs?limit=20')).body as { hubId: string; path?: string }[];
    for (const hub of hubs.filter((one) => one.path === path))
      await api.delete(`/v1/hubs/${hub.hubId}?recursive=true`);
  });
  return { dir, table, path, env, run, change };
}

async function queryFiles(dir: string): Promise<string[]> {
  const entries = await readdir(join(dir, 'queries'), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .sort();
}

export async function bytesOf(dir: string): Promise<Record<string, string>> {
  const files = ['hub.yaml', ...(await queryFiles(dir))];
  return Object.fromEntries(
    await Promise.all(files.map(async (file) => [file, await readFile(join(dir, file), 'utf8')])),
  );
}

const columns =
  'id bigint PRIMARY KEY, region varchar(20), product varchar(20), quantity int, amount numeric(12, 2)';

/** Runs a statement at the database, as its owner. */
export async function atDatabase(engine: string, statement: string): Promise<void> {
  const { host, port, user, password, database: db } = database(engine);
  if (engine === 'postgres') {
    const client = new pg.Client({ host, port, user, password, database: db });
    await client.connect();
    await client.query(statement).finally(() => client.end());
  } else {
    const client = await mysql.createConnection({ host, port, user, password, database: db });
    await client.query(statement).finally(() => client.end());
  }
}

async function withTable(engine: string, table: string, { closing }: Place): Promise<void> {
  await atDatabase(engine, `CREATE TABLE ${table} (${columns})`);
  closing.push(() => atDatabase(engine, `DROP TABLE IF EXISTS ${table}`));
  await atDatabase(
    engine,
    `INSERT INTO ${table} VALUES (1, 'north', 'tea', 2, 10.50), (2, 'south', 'cocoa', 1, 4.00)`,
  );
}
