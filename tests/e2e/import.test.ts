import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, it } from 'vitest';
import { api, database, engines } from '../support/hub.ts';
import { openPlace } from '../support/hub-files.ts';

const { datahub, suffix, closing, withTable } = await openPlace();
const { url, key } = inject('hub');
const example = fileURLToPath(new URL('../../docs/examples/plain', import.meta.url));

/** Writes the address of the test's database into the files of a hub, and applies them. */
async function applyTo(path: string): Promise<Record<string, string>> {
  const { host, port, user, password, database: db } = database('postgres');
  const hubFile = join(datahub.dir, path, 'hub.yaml');
  const text = await readFile(hubFile, 'utf8');
  const [userName = '', passwordName = ''] = [...text.matchAll(/\$\{env:(\w+)\}/g)].map(([, name]) => name);
  const address = text
    .replace('host: 127.0.0.1', `host: ${host}`)
    .replace('port: 5432', `port: ${port}`)
    .replace(`database: ${path}`, `database: ${db}`);
  await writeFile(hubFile, address);
  const env = { DATAHUB_URL: url, DATAHUB_API_KEY: key, [userName]: user, [passwordName]: password };
  await datahub.ok(['apply', path], { env });
  closing.push(async () => {
    const hubs = await api.ok(api.get('/v1/hubs?limit=20'));
    const hub = hubs.find((one: { path?: string }) => one.path === path);
    if (hub !== undefined) await api.delete(`/v1/hubs/${hub.hubId}?recursive=true`);
  });
  return env;
}

it.runIf(engines.includes('postgres'))(
  'datahub import makes queries of plain SQL files, which run',
  async () => {
    const table = `orders_import_${suffix}`;
    const path = `import-${suffix}`;
    await withTable('postgres', table);
    const from = join(datahub.dir, 'plain');
    await cp(example, from, { recursive: true });
    for (const name of ['orders/by-region', 'orders/some', 'jobs/add-order']) {
      const file = join(from, `${name}.sql`);
      await writeFile(file, (await readFile(file, 'utf8')).replace(/(FROM|INTO) orders/, `$1 ${table}`));
    }
    expect(await datahub.run(['import', 'plain', path])).toMatchObject({
      code: 1,
      stdout: `plain/orders/any-table.sql:2:6: {{table}} stands for a name, which no value can be.
3 queries written, 1 not converted.\n`,
    });
    expect(await datahub.run(['import', 'plain', path])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('hub.yaml exists already'),
    });

    const env = await applyTo(path);
    expect(await datahub.run(['check', path], { env })).toMatchObject({
      code: 0,
      stdout: '3 queries checked, 0 errors.\n',
    });
    const rowsOf = async (name: string, ...values: string[]) =>
      JSON.parse(await datahub.ok(['run', `${path}/${name}`, ...values], { env })).data;
    const north = ['region=north', 'product=e'];
    expect(
      await rowsOf('jobs/add-order', 'id:=3', 'region=north', 'product=coffee', 'amount:=7.25'),
    ).toMatchObject([{ affectedRows: 1 }]);
    expect((await rowsOf('orders/by-region', ...north)).map(({ id }: any) => id)).toEqual([1, 3]);
    expect((await rowsOf('orders/by-region', ...north, 'least:=10')).map(({ id }: any) => id)).toEqual([1]);
    expect(await rowsOf('orders/some', 'p1:=[1, 2, 3]', 'p2:=10')).toEqual([
      { id: 2, amount: 4 },
      { id: 3, amount: 7.25 },
    ]);
  },
);

it.runIf(engines.includes('postgres'))(
  'queries of Redash, Metabase and Hasura answer the same rows here',
  async () => {
    const table = `orders_products_${suffix}`;
    await withTable('postgres', table);
    const redash = {
      queries: [
        {
          ...{ id: 1, name: 'By region', data_source_id: 1 },
          query: `SELECT id FROM ${table} WHERE region IN ({{regions}}) AND amount > {{least}} ORDER BY id;`,
          options: {
            parameters: [
              {
                ...{ name: 'regions', type: 'enum', enumOptions: 'north\nsouth', value: ['north'] },
                multiValuesOptions: { prefix: "'", suffix: "'", separator: ',' },
              },
              { name: 'least', type: 'number', value: 0.5 },
            ],
          },
        },
        { id: 2, name: 'Any table', data_source_id: 1, query: 'SELECT *\nFROM {{table}}', options: {} },
      ],
      data_sources: [{ id: 1, name: 'Database', type: 'pg' }],
    };
    const tags = {
      region: { name: 'region', type: 'dimension', dimension: ['field', 1, null], 'widget-type': 'string/=' },
      least: { name: 'least', type: 'number' },
    };
    const metabase = {
      cards: [
        {
          ...{ id: 1, name: 'By region' },
          dataset_query: {
            type: 'native',
            database: 1,
            native: {
              query: `SELECT id FROM ${table} WHERE {{region}} [[AND amount > {{least}}]] ORDER BY id`,
              'template-tags': tags,
            },
          },
        },
      ],
      databases: [{ id: 1, name: 'Database', engine: 'postgres' }],
      fields: [{ id: 1, name: 'region', table: { name: table, schema: 'public' }, base_type: 'type/Text' }],
    };
    const hasura = {
      sources: [
        { name: 'Database', kind: 'postgres', tables: [{ table: { name: table, schema: 'public' } }] },
      ],
      query_collections: [
        {
          name: 'allowed',
          definition: {
            queries: [
              {
                name: 'By region',
                query: `query ($region: String) { ${table}(where: {region: {_eq: $region}}, order_by: {id: asc}) { id } }`,
              },
            ],
          },
        },
      ],
    };
    for (const [name, found] of Object.entries({ redash, metabase, hasura }))
      await writeFile(join(datahub.dir, `${name}.json`), JSON.stringify(found));

    const idsOf = async (product: string, ...values: string[]) => {
      const path = `${product}-${suffix}`;
      const answer = JSON.parse(
        await datahub.ok(['run', `${path}/by-region`, ...values], { env: envs[product] as never }),
      );
      return answer.data.map(({ id }: { id: number }) => id);
    };
    const envs: Record<string, Record<string, string>> = {};
    for (const product of ['redash', 'metabase', 'hasura']) {
      const path = `${product}-${suffix}`;
      const role = product === 'hasura' ? ['--role', 'admin'] : [];
      const { stdout } = await datahub.run(['import', product, `${product}.json`, path, ...role]);
      expect(stdout).toContain(`1 query written, ${product === 'redash' ? 1 : 0} not converted.`);
      if (product === 'redash')
        expect(stdout).toContain('redash.json#2:2:6: {{table}} stands for a name, which no value can be.');
      envs[product] = await applyTo(path);
      expect(await datahub.run(['check', path], { env: envs[product] })).toMatchObject({
        code: 0,
        stdout: '1 query checked, 0 errors.\n',
      });
    }
    const [north, all] = [[1], [1, 2]];
    expect(await idsOf('redash')).toEqual(north);
    expect(await idsOf('redash', 'regions:=["north", "south"]', 'least:=5.5')).toEqual([1]);
    expect(await idsOf('metabase')).toEqual(all);
    expect(await idsOf('metabase', 'region:=["north"]')).toEqual(north);
    expect(await idsOf('metabase', 'least:=5')).toEqual([1]);
    expect(await idsOf('hasura')).toEqual(all);
    expect(await idsOf('hasura', 'region=north')).toEqual(north);
  },
);
