import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { api, apiOf, engines } from '../support/hub.ts';
import { openPlace } from '../support/hub-files.ts';

const { copyExample, withTable, datahub, closing } = await openPlace();
const root = fileURLToPath(new URL('../..', import.meta.url));
const { url, key: stagingKey, otherKey } = inject('hub');

const page = `scopes: [queries:execute]
# What the page shows.
limits: { queries: [orders/by-region], maxRows: 10, context: { region: north } }
`;
const keyIn = (stdout: string) => /dhk_\w+/.exec(stdout)?.[0] ?? '';
/** Keys whose names say that they are of a hub. */
const keysOf = async (path: string, as = api) =>
  (await as.ok(as.get('/v1/keys'))).filter((one: { name: string }) => one.name.startsWith(`${path}/`));

it('plans, creates, changes, exports and revokes keys of files, and shows their texts once', async () => {
  const { dir, table, path, run, change, env } = await copyExample('keys', engines[0] as string);
  await withTable(engines[0] as string, table);
  await run('apply');
  await mkdir(join(dir, 'keys'));
  const file = join(dir, 'keys/page.yaml');
  await writeFile(file, page.replace('orders/by-region', 'orders/none'));
  expect((await run('plan')).stderr).toContain('keys/page.yaml:3:21: There is no query orders/none.');
  await writeFile(file, page);
  expect(await run('plan')).toMatchObject({ code: 2, stdout: expect.stringContaining('+ key page') });
  const applied = await run('apply');
  expect(applied).toMatchObject({ code: 0, stdout: expect.stringContaining('1 change\n') });
  const text = keyIn(applied.stdout);
  const [stored] = await keysOf(path);
  expect(stored).toMatchObject({
    name: `${path}/page`,
    limits: { maxRows: 10, context: { region: 'north' } },
  });
  expect(stored.limits.queries).toEqual([`${path}/orders/by-region`]);
  const asPage = apiOf(text);
  expect((await asPage.get(`/v1/hubs/${path}/data/orders/by-region`)).status).toBe(200);
  expect((await asPage.get(`/v1/hubs/${path}/data/products/revenue`)).status).not.toBe(200);

  // A file that says the same stays as it is written, and apply changes nothing again.
  expect(await run('plan')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
  expect(await run('apply')).toMatchObject({ code: 0, stdout: '0 changes\n' });
  expect((await run('export')).code).toBe(0);
  expect(await readFile(file, 'utf8')).toBe(page);
  await datahub.ok(['export', 'fresh-keys', '--hub', path], { env });
  const fresh = await readFile(join(datahub.dir, 'fresh-keys/keys/page.yaml'), 'utf8');
  expect(fresh).toContain('- orders/by-region');
  expect(fresh).not.toContain('dhk_');

  // What somebody changes in the hub is drift; another rate changes the key, which stays.
  await api.ok(api.put(`/v1/keys/${stored.keyId}`, { limits: { maxRows: 99, queries: null } }));
  expect((await run('plan')).stdout).toMatch(/~ key page[\s\S]*99 → 10/);
  await change('keys/page.yaml', (before) => before.replace('maxRows: 10', 'maxRows: 1'));
  expect(await run('apply')).toMatchObject({ code: 0, stdout: '1 change\n' });
  expect((await keysOf(path))[0]).toMatchObject({
    keyId: stored.keyId,
    limits: { maxRows: 1, queries: stored.limits.queries },
  });
  await change('keys/page.yaml', (before) => before.replace('[queries:execute]', '[queries:read]'));
  expect((await run('plan')).stderr).toContain('keys/page.yaml:1:9: The scopes of a key cannot be changed.');

  await rm(file);
  expect((await run('plan')).stdout).toContain('these keys of the hub, which stay');
  expect(await run('apply', '--prune')).toMatchObject({ code: 0, stdout: '1 change\n' });
  expect(await keysOf(path)).toEqual([]);
});

const secretPage = `scopes: [queries:execute]
limits: { queries: [orders/by-region], context: { region: "\${env:PAGE_REGION}", tenant: 7 } }
`;

it('keeps pinned values of secret variables out of files, plans and answers', async () => {
  const { dir, table, path, change, env } = await copyExample('pins', engines[0] as string);
  await withTable(engines[0] as string, table);
  const secret = 's3cret-region';
  let told = '';
  const run = async (more: Record<string, string>, ...args: string[]) => {
    const ran = await datahub.run([args[0] ?? '', dir, ...args.slice(1)], { env: { ...env, ...more } });
    told += ran.stdout + ran.stderr;
    return ran;
  };
  const known = { PAGE_REGION: secret };
  await change('queries/orders/by-region.sql', (text) =>
    text.replace('key: region', 'key: region\n--     secret: true'),
  );
  await mkdir(join(dir, 'keys'));
  const file = join(dir, 'keys/page.yaml');
  await writeFile(file, page);
  expect((await run(known, 'plan')).stderr).toContain('keys/page.yaml:3:72: region is a secret variable');
  await writeFile(file, secretPage);
  expect((await run({}, 'plan')).stderr).toMatch(/page.yaml:2:\d+: The environment has no PAGE_REGION/);
  expect((await run(known, 'apply')).code).toBe(0);
  const [stored] = await keysOf(path);
  closing.push(() => api.delete(`/v1/keys/${stored.keyId}`));
  expect(stored.limits.context).toEqual({ region: '********', tenant: 7 });
  // The environment is needed no more, until the value is to be sent again.
  expect(await run({}, 'plan')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
  await change('keys/page.yaml', (text) => text.replace('tenant: 7', 'tenant: 8'));
  expect((await run({}, 'plan')).stdout).toContain('limits.context.tenant: 7 → 8');
  expect((await run({}, 'apply')).code).toBe(0);
  expect((await keysOf(path))[0].limits.context).toEqual({ region: '********', tenant: 8 });
  const again = await run({ PAGE_REGION: 's3cret-other' }, 'plan', '--credentials');
  expect(again.stdout).toContain('~ key page\n    changes limits\n');
  const before = await readFile(file, 'utf8');
  expect((await run({}, 'export')).code).toBe(0);
  expect(await readFile(file, 'utf8')).toBe(before);
  await datahub.ok(['export', 'fresh-pins', '--hub', path], { env });
  const fresh = await readFile(join(datahub.dir, 'fresh-pins/keys/page.yaml'), 'utf8');
  expect(fresh).toMatch(/region: \$\{env:SHOP_PINS_\w+_KEY_PAGE_REGION\}/);
  expect(told + fresh).not.toContain('s3cret');
});

it('exports what files can say, and tells what they cannot', async () => {
  const { dir, table, path, run, env } = await copyExample('whole', engines[0] as string);
  await withTable(engines[0] as string, table);
  expect((await run('apply')).code).toBe(0);
  const hub = (await api.get('/v1/hubs?limit=20')).body.find((one: { path?: string }) => one.path === path);
  const { hubId } = hub;
  const [source] = await api.ok(api.get(`/v1/sources?hubId=${hubId}`));
  const { label: _, ...settings } = source;
  const connectionSettings = { ...settings.connectionSettings, user: 'u', password: 'p' };
  const body = { hubId, label: 'Gone', engine: settings.engine, connectionSettings };
  const { sourceId } = await api.ok(api.post('/v1/sources', body));
  await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'Lost', path: 'lost', query: 'SELECT 1' }));
  await api.ok(api.delete(`/v1/sources/${sourceId}`));
  const names = [`${path}/My Page!`, `${path}/whole-account`, `${path}/lost-query`, `${path}/page`];
  const limits = [{}, undefined, { queries: [`${path}/lost`] }, { queries: [`${path}/orders/by-region`] }];
  for (const [i, name] of names.entries()) {
    const made = { name, scopes: ['queries:execute'], ...(limits[i] && { limits: limits[i] }) };
    const { keyId } = await api.ok(api.post('/v1/keys', made));
    closing.push(() => api.delete(`/v1/keys/${keyId}`));
  }
  await mkdir(join(dir, 'keys'));
  await writeFile(join(dir, 'keys/whole-account.yaml'), 'scopes: [queries:read]\n');
  const { code, stderr } = await run('export', '--prune');
  expect([code, stderr.split('\n').slice(0, 3)]).toEqual([
    0,
    [
      'Queries whose source was deleted have no file: lost',
      '1 key has a name that is no path.',
      'Keys that hold for more than this hub, or for what it does not have, have no file: whole-account, lost-query',
    ],
  ]);
  expect(await readFile(join(dir, 'keys/page.yaml'), 'utf8')).toContain('orders/by-region');
  // What files cannot say stays as it was.
  await rm(join(dir, 'keys/whole-account.yaml'));
  expect(await run('plan')).toMatchObject({ code: 0, stdout: expect.stringContaining('No changes.') });

  // The label of another hub gives the path of this one.
  const twin = await api.ok(api.post('/v1/hubs', { label: path.toUpperCase() }));
  closing.push(() => api.delete(`/v1/hubs/${twin.hubId}?recursive=true`));
  const other = join(datahub.dir, 'whole-twin');
  await datahub.ok(['export', other, '--hub', twin.hubId, '--adopt'], { env });
  expect(await readFile(join(other, 'hub.yaml'), 'utf8')).toContain(`hub: ${path}-2\n`);
  await datahub.ok(['apply', other], { env });
  expect((await api.ok(api.get(`/v1/hubs/${hubId}`))).label).toBe(hub.label);
});

const program = `
import { createClient } from '@datahub/client';
import { ordersByRegion } from './hub.ts';
const client = createClient({ url: process.env.HUB_URL, key: process.env.HUB_KEY });
const { data } = await client.execute(ordersByRegion, { region: 'north' });
process.stdout.write(JSON.stringify(data.map(({ id }) => id)));
`;

it('serves staging and production from one set of files, one module, one document and one file of a key', async () => {
  const { dir, table, path, env } = await copyExample('stages', engines[0] as string);
  await withTable(engines[0] as string, table);
  await mkdir(join(dir, 'keys'));
  await writeFile(join(dir, 'keys/page.yaml'), page.replace(', context: { region: north }', ''));
  await mkdir(join(root, '.cache'), { recursive: true });
  const place = await mkdtemp(join(root, '.cache/stages-'));
  closing.push(() => rm(place, { recursive: true, force: true }));
  await writeFile(join(place, 'program.ts'), program);

  const stages = await Promise.all(
    [stagingKey, otherKey].map(async (key) => {
      const options = { env: { ...env, DATAHUB_API_KEY: key } };
      const as = apiOf(key);
      const applied = await datahub.run(['apply', dir], options);
      expect(applied.code, applied.stderr).toBe(0);
      closing.push(async () => {
        for (const one of await keysOf(path, as)) await as.delete(`/v1/keys/${one.keyId}`);
        const hubs = await as.ok(as.get('/v1/hubs?limit=20'));
        const hub = hubs.find((one: { path?: string }) => one.path === path);
        await as.delete(`/v1/hubs/${hub?.hubId}?recursive=true`);
      });
      expect(await datahub.run(['plan', dir], options)).toMatchObject({ code: 0, stdout: 'No changes.\n' });
      return {
        key: keyIn(applied.stdout),
        module: await datahub.ok(['types', path], options),
        python: await datahub.ok(['types', path, '--python'], options),
        document: await as.ok(as.get(`/v1/hubs/${path}/openapi.json`)),
      };
    }),
  );
  const [staging, production] = stages;
  expect(staging?.key).not.toBe(production?.key);
  for (const part of ['module', 'python', 'document'] as const)
    expect(staging?.[part]).toEqual(production?.[part]);
  expect(staging?.module).not.toMatch(/dh\.(?:q|hub)\./);

  await writeFile(join(place, 'hub.ts'), staging?.module as string);
  for (const { key } of stages) {
    const { stdout } = await promisify(execFile)(process.execPath, ['program.ts'], {
      cwd: place,
      env: { ...process.env, HUB_URL: url, HUB_KEY: key },
    });
    expect(JSON.parse(stdout)).toEqual([1]);
  }
});

it('exports with a key that sees only some queries, and removes no file of the others', async () => {
  const { dir, table, path, run, env } = await copyExample('limited', engines[0] as string);
  await withTable(engines[0] as string, table);
  expect((await run('apply')).code).toBe(0);
  const limits = JSON.stringify({ queries: [`${path}/orders/by-region`] });
  const made = await datahub.ok(['keys', 'create', '--name', 'one', '--limits', limits], { env });
  const limited = { ...env, DATAHUB_API_KEY: keyIn(made) };
  const asLimited = (...more: string[]) => datahub.run(['export', dir, ...more], { env: limited });
  const refused = { code: 1, stderr: expect.stringContaining('is limited to some queries') };
  expect(await asLimited('--prune')).toMatchObject(refused);
  const plain = await asLimited();
  expect([plain.code, plain.stderr]).toEqual([0, expect.stringContaining('The key sees no queries')]);
  expect(await readFile(join(dir, 'queries/products/revenue.sql'), 'utf8')).toContain('label');
});
