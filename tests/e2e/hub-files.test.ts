import { randomBytes } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { createApi } from '../support/api.ts';
import { createDatahub } from '../support/datahub.ts';
import { api, database, engines } from '../support/hub.ts';

const { url, key, otherKey } = inject('hub');
const example = fileURLToPath(new URL('../../docs/examples/shop', import.meta.url));
const suffix = randomBytes(4).toString('hex');
const datahub = await createDatahub({});
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
  await datahub.close();
});

/** The example in a directory of its own, for a hub and a table of its own. */
async function copyExample(name: string, engine: string) {
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

async function bytesOf(dir: string): Promise<Record<string, string>> {
  const files = ['hub.yaml', ...(await queryFiles(dir))];
  return Object.fromEntries(
    await Promise.all(files.map(async (file) => [file, await readFile(join(dir, file), 'utf8')])),
  );
}

const columns =
  'id bigint PRIMARY KEY, region varchar(20), product varchar(20), quantity int, amount numeric(12, 2)';

/** Runs a statement at the database, as its owner. */
async function atDatabase(engine: string, statement: string): Promise<void> {
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

const withTable = async (engine: string, table: string) => {
  await atDatabase(engine, `CREATE TABLE ${table} (${columns})`);
  closing.push(() => atDatabase(engine, `DROP TABLE IF EXISTS ${table}`));
  await atDatabase(
    engine,
    `INSERT INTO ${table} VALUES (1, 'north', 'tea', 2, 10.50), (2, 'south', 'cocoa', 1, 4.00)`,
  );
};

describe.each(['postgres', 'mysql'].filter((one) => engines.includes(one)))(
  'docs/examples/shop on %s',
  (engine) => {
    it('is applied, changes nothing when applied again, and is exported as it is', async () => {
      const { dir, table, path, run, env } = await copyExample(`shop-${engine}`, engine);
      await withTable(engine, table);
      expect(await run('plan')).toMatchObject({ code: 2, stdout: expect.stringContaining('8 to create') });
      expect(await run('apply')).toMatchObject({ code: 0, stdout: '8 changes\n', stderr: '' });
      expect(await run('plan')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
      expect(await run('apply')).toMatchObject({ code: 0, stdout: '0 changes\n' });
      expect(await run('check')).toMatchObject({ code: 0, stdout: '3 queries checked, 0 errors.\n' });
      const before = await bytesOf(dir);
      expect(await run('export')).toMatchObject({ code: 0, stderr: '' });
      expect(await bytesOf(dir)).toEqual(before);
      expect(JSON.stringify(before)).not.toContain(env.SHOP_DB_PASSWORD);
      const values = ['region=north', 'minimum:=1.5'];
      const rows = await datahub.ok(['run', `${path}/orders/by-region`, ...values], { env });
      expect(JSON.parse(rows)).toMatchObject({ data: [{ id: 1, product: 'tea' }] });

      // Another account gets the same hub, and exports the same bytes, also into an empty directory.
      const elsewhere = { ...env, DATAHUB_API_KEY: otherKey };
      await datahub.ok(['apply', dir], { env: elsewhere });
      const fresh = [`fresh-${engine}-1`, `fresh-${engine}-2`];
      for (const [i, one] of [env, elsewhere].entries())
        await datahub.ok(['export', fresh[i] as string, '--hub', path], { env: one });
      const [first, second] = await Promise.all(fresh.map((one) => bytesOf(join(datahub.dir, one))));
      expect(first).toEqual(second);
      expect(JSON.stringify(first)).not.toContain(`"${env.SHOP_DB_PASSWORD}"`);
      const other = createApi({ url, key: otherKey });
      const hubs = await other.ok(other.get('/v1/hubs?limit=20'));
      for (const hub of hubs.filter((one: { path?: string }) => one.path === path))
        await other.delete(`/v1/hubs/${hub.hubId}?recursive=true`);

      // The table changes under files that stay the same.
      await atDatabase(engine, `ALTER TABLE ${table} DROP COLUMN product`);
      const broken = await run('check');
      expect(broken.code).toBe(1);
      expect(broken.stdout).toMatch(/^queries\/orders\/by-region\.sql:29:\d+: .*product/m);
      expect(broken.stdout).toContain('queries/products/revenue.sql:');
    });
  },
);

describe('hubs as files', () => {
  const engine = engines[0] as string;

  it('reports all faults at once with file, line and column, and changes nothing', async () => {
    const { dir, path, run, change, env } = await copyExample('faults', engine);
    await change('hub.yaml', (text) =>
      text.replace(/\$\{env:SHOP_DB_PASSWORD\}/, 'secret-canary\n      colour: red'),
    );
    await change('queries/orders/by-region.sql', (text) =>
      text.replace('-- source: Orders', '-- source: Order').replace('--   maxAgeS', '--   maxAge'),
    );
    await change('queries/products/revenue.sql', (text) => text.replace('source: Orders', 'source: Nowhere'));
    await cp(join(dir, 'queries/products/revenue.sql'), join(dir, 'queries/products/revenue.mongodb'));
    await writeFile(join(dir, 'queries/Upper.sql'), '-- ---\n-- label: [\n-- ---\nSELECT 1\n');
    await writeFile(join(dir, 'queries/bare.sql'), 'SELECT 1\n');
    for (const command of ['plan', 'apply', 'check']) {
      const { code, stderr } = await run(command);
      expect(code).toBe(1);
      expect(stderr.split('\n').filter((line) => /^\S+:\d+:\d+: /.test(line)).length).toBeGreaterThanOrEqual(
        8,
      );
      for (const fault of [
        'hub.yaml:11:17: password is a secret',
        'hub.yaml:12:7: colour is unknown',
        'queries/orders/by-region.sql:19:6: maxAge is unknown',
        'queries/products/revenue.mongodb:3:12: hub.yaml has no source Nowhere',
        'has the same path products/revenue',
        'queries/Upper.sql:1:1: The path of a file may have',
        'is not YAML',
        'queries/bare.sql:1:1: The file must begin with',
      ])
        expect(stderr).toContain(fault);
    }
    expect(JSON.parse(await datahub.ok(['keys', 'list'], { env })).length).toBeGreaterThan(0);
    const hubs = (await api.get('/v1/hubs?limit=20')).body as { path?: string }[];
    expect(hubs.filter((one) => one.path === path)).toEqual([]);
    await copyExample('missing', engine);
    const { SHOP_DB_PASSWORD: _, ...without } = env;
    const missing = await datahub.run(['plan', join(datahub.dir, 'missing')], { env: without });
    expect(missing.stderr).toContain('hub.yaml:11:17: The environment has no SHOP_DB_PASSWORD');
  });

  it('shows the change of a contract and its callers, and prunes only if told to', async () => {
    const { dir, table, path, run, change, env } = await copyExample('contract', engine);
    await withTable(engine, table);
    expect((await run('apply')).code).toBe(0);
    await datahub.ok(['run', `${path}/products/revenue`], { env });
    await change('queries/products/revenue.sql', (text) => text.replace(', count(*) AS orders', ''));
    await rm(join(dir, 'queries/orders/change-quantity.sql'));
    const planned = JSON.parse((await run('plan', '--json')).stdout);
    expect(planned).toMatchObject({
      changes: [
        { kind: 'query', action: 'update', name: 'products/revenue', members: ['text'], breaking: true },
      ],
      unmanaged: ['orders/change-quantity'],
    });
    expect(planned.changes[0].contract).toMatchObject([
      { name: 'orders', change: 'removed', breaking: true },
    ]);
    const markdown = await run('plan', '--markdown');
    expect([markdown.code, markdown.stdout]).toEqual([2, expect.stringContaining('```diff')]);
    expect(markdown.stdout).toContain('BREAKING');
    expect(await run('apply', '--prune')).toMatchObject({ code: 0, stdout: '2 changes\n' });
    expect(await run('plan', '--prune')).toMatchObject({ code: 0 });

    // A key that can check, and neither run nor change, is enough for plan and check.
    const scopes = 'queries:check,hubs:read,sources:read,queries:read,classifiers:read';
    const ci = JSON.parse(await datahub.ok(['keys', 'create', '--name', 'ci', '--scopes', scopes], { env }));
    await change('queries/products/revenue.sql', (text) => text.replace('label: Revenue', 'label: Revenues'));
    const asCi = (command: string) =>
      datahub.run([command, dir], { env: { ...env, DATAHUB_API_KEY: ci.key } });
    expect([(await asCi('check')).code, (await asCi('plan')).code, (await asCi('apply')).code]).toEqual([
      0, 2, 3,
    ]);

    // What only the hub can judge has its place in the file, too.
    await change('queries/orders/by-region.sql', (text) => text.replace('value: 0.00', 'value: none'));
    const place = /^queries\/orders\/by-region\.sql:16:15: context\.1\.value must be /m;
    expect(await run('check')).toMatchObject({ code: 1, stdout: expect.stringMatching(place) });
    expect(await run('plan')).toMatchObject({ code: 1, stderr: expect.stringMatching(place) });
  });

  it('leads a new user from nothing to a query that CI checks', async () => {
    const name = `first-${suffix}`;
    const { host, port, user, password, database: db } = database(engine);
    const env = { DATAHUB_URL: url, DATAHUB_API_KEY: key };
    expect(await datahub.run(['export', name], { env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`datahub init ${name}`),
    });
    const next = await datahub.ok(['init', name, '--engine', engine]);
    const [, scopes = ''] = /--scopes (\S+)/.exec(next) ?? [];
    const [, userName = '', passwordName = ''] = /set (\w+) and (\w+)\./.exec(next) ?? [];
    expect(await datahub.run(['init', name])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('exists already'),
    });
    const file = join(datahub.dir, name, 'hub.yaml');
    const text = await readFile(file, 'utf8');
    await writeFile(
      file,
      text
        .replace('host: 127.0.0.1', `host: ${host}`)
        .replace(/port: \d+/, `port: ${port}`)
        .replace(/database: .*/, `database: ${db}`),
    );
    const secrets = { [userName]: user, [passwordName]: password };
    await datahub.ok(['apply', name], { env: { ...env, ...secrets } });
    const rows = await datahub.ok(['run', `${name}/hello`], { env });
    expect(JSON.parse(rows)).toEqual({ data: [{ hello: 'world' }] });
    const ci = JSON.parse(await datahub.ok(['keys', 'create', '--name', 'ci', '--scopes', scopes], { env }));
    const checked = await datahub.ok(['check', name], { env: { ...env, DATAHUB_API_KEY: ci.key } });
    expect(checked).toBe('1 query checked, 0 errors.\n');
    const { hubId } = (await api.get('/v1/hubs?limit=20')).body.find(
      (hub: { path?: string }) => hub.path === name,
    );
    await api.delete(`/v1/hubs/${hubId}?recursive=true`);
  });

  it('does not overwrite what somebody changed, and takes over queries without a path', async () => {
    const { dir, table, path, run, env } = await copyExample('adopt', engine);
    await withTable(engine, table);
    expect((await run('apply')).code).toBe(0);
    const hubs = (await api.get('/v1/hubs?limit=20')).body as { hubId: string; path?: string }[];
    const hubId = hubs.find((one) => one.path === path)?.hubId as string;
    const { sourceId } = (await api.get(`/v1/sources?hubId=${hubId}`)).body[0];
    await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'Öld query', query: 'SELECT 1 AS one' }));
    expect((await run('export')).stderr).toContain('1 queries have no path');
    expect(await readFile(join(dir, 'queries/old-query.sql'), 'utf8')).toContain('label: Öld query');
    expect(JSON.parse((await run('plan', '--json')).stdout).changes).toMatchObject([{ action: 'create' }]);
    expect(JSON.parse((await run('plan', '--adopt', '--json')).stdout).changes).toMatchObject([
      { action: 'update', members: ['path'] },
    ]);
    expect((await run('apply', '--adopt')).code).toBe(0);
    expect((await run('plan')).code).toBe(0);
    expect(JSON.parse(await datahub.ok(['run', `${path}/old-query`], { env })).data).toEqual([{ one: 1 }]);
  });

  it('is finished by the next apply after a kill at any point', async () => {
    const { dir, table, run, env } = await copyExample('killed', engine);
    await withTable(engine, table);
    await mkdir(join(dir, 'queries/many'));
    const text = '-- ---\n-- label: One of many\n-- source: Orders\n-- ---\nSELECT 1 AS one\n';
    for (let i = 0; i < 30; i++) await writeFile(join(dir, `queries/many/q${i}.sql`), text);
    let applied = 0;
    for (let kills = 0; kills < 6; kills++) {
      // Killed as soon as the hub has a few queries more.
      const killed = datahub.run(['apply', dir], {
        env,
        onStart: (child) => {
          const timer = setInterval(async () => {
            const hub = (
              (await api.get('/v1/hubs?limit=20')).body as { hubId: string; path?: string }[]
            ).find((one) => one.path === `shop-killed-${suffix}`);
            const count =
              hub === undefined ? 0 : (await api.get(`/v1/queries?hubId=${hub.hubId}`)).body.length;
            if (count <= applied) return;
            applied = count;
            child.kill('SIGKILL');
          }, 5);
          child.on('close', () => clearInterval(timer));
        },
      });
      await killed;
    }
    expect(applied).toBeGreaterThan(0);
    expect((await run('apply')).code).toBe(0);
    expect(await run('plan', '--prune')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
  });

  it('lets one of two applies at once win, and the other say so', async () => {
    const { table, run } = await copyExample('twice', engine);
    await withTable(engine, table);
    const both = await Promise.all([run('apply'), run('apply')]);
    const lost = both.filter(({ code }) => code !== 0);
    for (const { code, stderr } of lost)
      expect([code, stderr]).toEqual([5, expect.stringContaining('un this again')]);
    expect(lost.length).toBeLessThan(2);
    expect((await run('apply')).code).toBe(0);
    expect(await run('plan', '--prune')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
  });
});
