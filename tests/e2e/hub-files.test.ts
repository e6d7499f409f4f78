import { randomBytes } from 'node:crypto';
import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { createApi } from '../support/api.ts';
import { api, database, engines } from '../support/hub.ts';
import { atDatabase, bytesOf, openPlace } from '../support/hub-files.ts';

const { copyExample, datahub, suffix, withTable } = await openPlace();
const { url, key, otherKey, refusedKey } = inject('hub');

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

  it.runIf(engines.includes('postgres'))('have the sessions of sources and queries', async () => {
    const { dir, path, run, env, change, table } = await copyExample('session', 'postgres');
    await withTable('postgres', table);
    const session = (place: string) =>
      `session:\n        settings:\n          app.place:\n            value: ${place}\n`;
    await change('hub.yaml', (text) => text.replace(/( {6}password: .*\n)/, `$1      ${session('hub')}`));
    const query = (kind: string) =>
      `-- ---\n-- label: Settings\n-- source: Orders\n-- session:\n--   settings:\n--     app.kind:\n--       value: ${kind}\n-- ---\n` +
      "SELECT current_setting('app.place') AS place, current_setting('app.kind') AS kind\n";
    const file = join(dir, 'queries/settings.sql');
    await writeFile(file, query('page'));
    const rows = async () => JSON.parse(await datahub.ok(['run', `${path}/settings`], { env })).data;
    expect(await run('apply')).toMatchObject({ code: 0, stdout: '9 changes\n', stderr: '' });
    expect(await rows()).toEqual([{ place: 'hub', kind: 'page' }]);
    expect(await run('plan')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
    const before = await bytesOf(dir);
    await run('export');
    expect(await bytesOf(dir)).toEqual(before);

    await writeFile(file, query('report'));
    await change('hub.yaml', (text) => text.replace('value: hub', 'value: files'));
    const { stdout } = await run('plan');
    expect(stdout).toContain('session');
    expect(await run('apply')).toMatchObject({ code: 0, stdout: '2 changes\n' });
    expect(await rows()).toEqual([{ place: 'files', kind: 'report' }]);
    // A query may not set what its source sets.
    await writeFile(file, query('report').replace('app.kind', 'app.place'));
    const refused = await run('apply');
    expect(refused.code).toBe(1);
    expect(await rows()).toEqual([{ place: 'files', kind: 'report' }]);
  });

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
    await writeFile(join(dir, 'queries/SHOUTED.SQL'), '-- ---\n-- label: a\n-- ---\nSELECT 1\n');
    await writeFile(join(dir, 'queries/README.md'), 'Not a query.\n');
    await symlink('bare.sql', join(dir, 'queries/link.sql'));
    await change('hub.yaml', (text) => text.replace('  - Reports\n', '  - Reports\n  - Reports\n'));
    await change('hub.yaml', (text) => text.replace(/( {2}- name: .*)/, '$1\n$1'));
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
        'queries/SHOUTED.SQL:1:1: The ending must be .sql instead of .SQL.',
        'queries/link.sql:1:1: Links are not followed.',
        'hub.yaml:15:5: Reports is listed twice',
        `hub.yaml:19:11: Tickets ${path} is listed twice`,
      ])
        expect(stderr).toContain(fault);
      expect(stderr).not.toContain('README.md');
    }
    expect(JSON.parse(await datahub.ok(['keys', 'list'], { env })).length).toBeGreaterThan(0);
    const hubs = (await api.get('/v1/hubs?limit=20')).body as { path?: string }[];
    expect(hubs.filter((one) => one.path === path)).toEqual([]);
    await copyExample('missing', engine);
    const { SHOP_DB_PASSWORD: _, ...without } = env;
    const missing = await datahub.run(['plan', join(datahub.dir, 'missing')], { env: without });
    expect(missing.stderr).toContain('hub.yaml:11:17: The environment has no SHOP_DB_PASSWORD');
  });

  it('shows the change of a contract and its callers, and prunes only with --prune', async () => {
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
    expect([markdown.code, markdown.stdout]).toEqual([3, expect.stringContaining('```diff')]);
    expect(markdown.stdout).toContain('BREAKING');
    for (const [failOn, code] of [
      ['changes', 3],
      ['breaking', 3],
      ['never', 0],
    ] as const)
      expect((await run('plan', '--fail-on', failOn)).code).toBe(code);
    expect(await run('apply', '--prune')).toMatchObject({ code: 0, stdout: '2 changes\n' });
    expect(await run('plan', '--prune')).toMatchObject({ code: 0 });

    // A key that can check, and neither run nor change, is enough for plan and check.
    const scopes = 'queries:check,hubs:read,sources:read,queries:read,keys:read,classifiers:read';
    const ci = JSON.parse(await datahub.ok(['keys', 'create', '--name', 'ci', '--scopes', scopes], { env }));
    await change('queries/products/revenue.sql', (text) => text.replace('label: Revenue', 'label: Revenues'));
    const asCi = (command: string) =>
      datahub.run([command, dir], { env: { ...env, DATAHUB_API_KEY: ci.key } });
    expect([(await asCi('check')).code, (await asCi('plan')).code, (await asCi('apply')).code]).toEqual([
      0, 2, 7,
    ]);

    // What only the hub can judge has its place in the file, too.
    await change('queries/orders/by-region.sql', (text) => text.replace('value: 0.00', 'value: none'));
    const place = /^queries\/orders\/by-region\.sql:16:15: context\.1\.value must be /m;
    expect(await run('check')).toMatchObject({ code: 1, stdout: expect.stringMatching(place) });
    expect(await run('plan')).toMatchObject({ code: 1, stderr: expect.stringMatching(place) });
  });

  it('keeps the bytes of settings that say the defaults', async () => {
    const { dir, table, run, change, env } = await copyExample('defaults', engine);
    await withTable(engine, table);
    const defaults = ['# The defaults.', 'tls: {mode: prefer}', 'hosts: []', 'pool: {}', 'srv: false'];
    await change('hub.yaml', (text) =>
      text.replace(/( +)password: .*\n/, (line, indent) =>
        [line, ...defaults.map((one) => `${indent}${one}\n`)].join(''),
      ),
    );
    expect(await run('apply')).toMatchObject({ code: 0, stderr: '' });
    expect(await run('plan')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
    const before = await bytesOf(dir);
    expect(await run('export')).toMatchObject({ code: 0, stderr: '' });
    expect(await bytesOf(dir)).toEqual(before);
    // Another setting is a change, for plan and for export.
    await change('hub.yaml', (text) => text.replace('mode: prefer', 'mode: disable'));
    expect((await run('plan')).stdout).toContain('tls.mode: none → "disable"');
    const elsewhere = await datahub.run(['plan', dir], { env: { ...env, SHOP_DB_HOST: 'other.example' } });
    expect(elsewhere.stdout).toContain('host: changed\n');
    expect(elsewhere.stdout).not.toContain('other.example');
    expect((await run('export')).code).toBe(0);
    expect(JSON.stringify(await bytesOf(dir))).not.toContain('disable');
  });

  it('applies only what it is told to, and names every file that the hub rejects', async () => {
    const { table, path, run, change, env } = await copyExample('only', engine);
    await withTable(engine, table);
    expect(await run('plan', '--only', 'orders/nothing')).toMatchObject({ code: 1 });
    const only = ['--only', 'products/revenue'];
    const planned = JSON.parse((await run('plan', ...only, '--json')).stdout);
    expect(planned.changes.map(({ kind }: { kind: string }) => kind)).toEqual([
      'hub',
      'folder',
      'folder',
      'source',
      'query',
    ]);
    expect(await run('apply', ...only)).toMatchObject({ code: 0, stdout: '5 changes\n' });
    await datahub.ok(['run', `${path}/products/revenue`], { env });
    expect(await run('plan', ...only)).toMatchObject({ code: 0 });
    for (const file of ['by-region', 'change-quantity'])
      await change(`queries/orders/${file}.sql`, (text) =>
        text.replace(/\n-- ---\n[\s\S]*$/, '\n-- ---\n)(\n'),
      );
    await change('queries/products/revenue.sql', (text) => text.replace('label: Revenue', 'label: Sums'));
    const { code, stderr } = await run('apply');
    expect([code, stderr]).toEqual([1, expect.stringContaining('The other queries are stored.')]);
    for (const file of ['by-region', 'change-quantity'])
      expect(stderr).toMatch(new RegExp(`^queries/orders/${file}\\.sql:\\d+:1: `, 'm'));
    expect(await run('plan', ...only)).toMatchObject({ code: 0 });
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
    // Nothing can be checked before the hub is there, and a pipeline must not take this for success.
    expect(await datahub.run(['check', name], { env })).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`The key sees no hub ${name}`),
    });
    const wrong = { [userName]: user, [passwordName]: 'wrong' };
    const asRefused = { ...env, DATAHUB_API_KEY: refusedKey };
    await datahub.ok(['apply', name], { env: { ...asRefused, ...wrong } });
    expect(await datahub.run(['run', `${name}/hello`], { env: asRefused })).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('apply DIR --credentials'),
    });
    const secrets = { [userName]: user, [passwordName]: password };
    const refused = createApi({ url, key: refusedKey });
    const theirs = await refused.ok(refused.get('/v1/hubs?limit=20'));
    for (const hub of theirs.filter((one: { path?: string }) => one.path === name))
      await refused.ok(refused.delete(`/v1/hubs/${hub.hubId}?recursive=true`));
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
    const { dir, table, path, run, env, change } = await copyExample('adopt', engine);
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
    const pool = { max: 5, idleTimeoutMs: 5_000 };
    await api.ok(api.put(`/v1/sources/${sourceId}`, { connectionSettings: { pool } }));
    await change('hub.yaml', (text) => text.replace(/( +)password: .*\n/, '$&$1pool: {max: 4}\n'));
    expect((await run('apply', '--adopt')).code).toBe(0);
    expect((await run('plan')).code).toBe(0);
    expect(JSON.parse(await datahub.ok(['run', `${path}/old-query`], { env })).data).toEqual([{ one: 1 }]);
  });

  it('exports neither the key of TLS nor other credentials, and keeps files that say the same', async () => {
    const { dir, path, run, change, env } = await copyExample('canary', engine);
    const canary = `canary-${randomBytes(12).toString('hex')}`;
    const pem = (what: string, text: string) => `-----BEGIN ${what}-----\n${text}\n-----END ${what}-----\n`;
    const { path: hubPath, hubId } = await api.ok(api.post('/v1/hubs', { label: path, path }));
    const connectionSettings = {
      ...{
        host: '127.0.0.1',
        port: 1,
        database: 'd',
        user: `${canary}-user`,
        password: `${canary}-password`,
      },
      tls: {
        mode: 'verify-full',
        ca: pem('CERTIFICATE', 'AUTHORITY'),
        cert: pem('CERTIFICATE', 'CERT'),
        key: pem('PRIVATE KEY', `${canary}-key`),
      },
    };
    const body = { hubId, label: 'Sealed', engine, connectionSettings };
    const { sourceId } = await api.ok(api.post('/v1/sources', body));
    // A file with a certificate and its key is a certificate that everybody with sources:read would see.
    for (const name of ['ca', 'cert'] as const) {
      const { tls } = connectionSettings;
      const both = { ...tls, [name]: tls[name] + pem('RSA PRIVATE KEY', canary) };
      const refused = await api.post('/v1/sources', {
        ...body,
        connectionSettings: { ...connectionSettings, tls: both },
      });
      expect([refused.status, refused.body.errors]).toEqual([
        400,
        [
          {
            pointer: `/connectionSettings/tls/${name}`,
            detail: expect.stringContaining('contains a private key'),
          },
        ],
      ]);
      expect(refused.text).not.toContain(canary);
    }
    const query = { hubId, sourceId, label: 'One', path: 'one', query: 'SELECT 1' };
    await api.ok(api.post('/v1/queries', query));
    // A file lists each name once.
    for (let i = 0; i < 2; i++) await api.ok(api.post('/v1/classifiers', { name: `${path} twice` }));
    for (const args of [[], ['--classifiers', '--json'], ['--adopt', '--prune']]) {
      const { code, stdout, stderr } = await datahub.run(['export', dir, '--hub', hubPath, ...args], { env });
      expect(code, stderr).toBe(0);
      const bytes = JSON.stringify([await bytesOf(dir), stdout, stderr]);
      expect(bytes).not.toContain(canary);
      expect(bytes).toContain('_SEALED_TLS_KEY}');
      expect(bytes).toContain('AUTHORITY');
    }
    expect((await bytesOf(dir))['hub.yaml']?.split(`${path} twice`)).toHaveLength(2);

    // A comment, another order and other quotes stay if nothing else changed.
    await change('queries/one.sql', (text) => text.replace('-- label: One', '-- # Why.\n-- label: "One"'));
    await change('hub.yaml', (text) => text.replace('label: Sealed', 'label: Sealed # Why.'));
    const before = await bytesOf(dir);
    await datahub.ok(['export', dir], { env });
    expect(await bytesOf(dir)).toEqual(before);
    await change('queries/one.sql', (text) => text.replace('"One"', 'Two'));
    expect(await run('export')).toMatchObject({ code: 0 });
    expect((await bytesOf(dir))['queries/one.sql']).toMatch(/^-- ---\n-- label: One\n/);
  });

  it('creates folders in the order of the file, and exports them in this order', async () => {
    const { dir, table, run, change } = await copyExample('order', engine);
    await withTable(engine, table);
    expect((await run('apply')).code).toBe(0);
    // New folders come last in the tree, wherever the file has them. It has no line for Archive.
    const folders = '  - Archive/2024\n  - New\n  - Reports/Products\n  - Reports\n';
    await change('hub.yaml', (text) => text.replace(/( {2}- Reports.*\n)+/, folders));
    const before = await bytesOf(dir);
    expect(before['hub.yaml']).toContain(folders);
    expect(JSON.parse((await run('plan', '--json')).stdout).changes).toMatchObject([
      { kind: 'folder', name: 'Archive' },
      { kind: 'folder', name: 'Archive/2024' },
      { kind: 'folder', name: 'New' },
    ]);
    expect((await run('apply')).code).toBe(0);
    expect((await run('export')).code).toBe(0);
    expect(await bytesOf(dir)).toEqual(before);
    expect(await run('plan', '--prune')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
  });
});
