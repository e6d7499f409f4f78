import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, it } from 'vitest';
import { api, database, engines } from '../support/hub.ts';
import { openPlace } from '../support/hub-files.ts';

const { datahub, suffix, closing, withTable } = await openPlace();
const { url, key } = inject('hub');
const example = fileURLToPath(new URL('../../docs/examples/plain', import.meta.url));

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
      stdout: `plain/orders/any-table.sql:2:6: {{ table }} stands for a name, which no value can be.
3 queries written, 1 file not converted.\n`,
    });
    expect(await datahub.run(['import', 'plain', path])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('hub.yaml exists already'),
    });

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
    const hubs = await api.ok(api.get('/v1/hubs?limit=20'));
    const hub = hubs.find((one: { path?: string }) => one.path === path);
    closing.push(() => api.delete(`/v1/hubs/${hub.hubId}?recursive=true`));
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
