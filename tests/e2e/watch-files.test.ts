import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { api, engines } from '../support/hub.ts';
import { openPlace } from '../support/hub-files.ts';

const { copyExample, withTable, suffix, datahub } = await openPlace();

const watch = `label: New orders
query: orders/by-region
context: { region: north }
schedule: { everyS: 3600 }
when: new
by: [id]
include: [id]
to: [Ops ${suffix}]
`;

it('plans, applies, exports and prunes watches, and shows what changed in the hub', async () => {
  const { dir, table, path, run, change, env } = await copyExample('watches', engines[0] as string);
  await withTable(engines[0] as string, table);
  expect((await run('apply')).code).toBe(0);
  await mkdir(join(dir, 'watches'));
  await writeFile(join(dir, 'watches/new-orders.yaml'), watch);
  const broken = watch.replace('orders/by-region', 'orders/none');
  await writeFile(join(dir, 'watches/other.yml'), broken);
  const early = await run('plan');
  expect([early.code, early.stderr]).toEqual([
    1,
    expect.stringContaining('watches/other.yml:1:1: The ending'),
  ]);
  await rm(join(dir, 'watches/other.yml'));
  await writeFile(join(dir, 'watches/other.yaml'), broken);
  expect((await run('plan')).stderr).toContain('watches/other.yaml:2:8: There is no query orders/none.');
  await rm(join(dir, 'watches/other.yaml'));
  expect((await run('apply')).stderr).toContain(`watches/new-orders.yaml:8:6: There is no destination Ops`);
  const destination = { label: `Ops ${suffix}`, url: 'http://127.0.0.1:9/' };
  const { destinationId } = await api.ok(api.post('/v1/destinations', destination));

  const planned = await run('plan');
  expect([planned.code, planned.stdout]).toEqual([2, expect.stringContaining('+ watch new-orders')]);
  expect(await run('apply')).toMatchObject({ code: 0, stdout: '1 change\n' });
  expect(await run('plan')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
  const hubs = await api.ok(api.get('/v1/hubs?limit=20'));
  const { hubId } = hubs.find((one: { path?: string }) => one.path === path);
  const stored = async () => (await api.ok(api.get(`/v1/watches?hubId=${hubId}`)))[0];
  const { watchId, ...made } = await stored();
  expect(made).toMatchObject({ path: 'new-orders', when: 'new', to: [destinationId] });

  // A file that says the same stays as it is written; into an empty directory the watch is written anew.
  const file = 'watches/new-orders.yaml';
  expect(await run('export')).toMatchObject({ code: 0, stderr: '' });
  expect(await readFile(join(dir, file), 'utf8')).toBe(watch);
  await datahub.ok(['export', 'fresh-watches', '--hub', path], { env });
  const fresh = await readFile(join(datahub.dir, 'fresh-watches', file), 'utf8');
  expect(fresh).toContain('query: orders/by-region');

  // What somebody changes in the hub is drift.
  const { hubId: _, ...body } = { ...made, paused: true };
  await api.ok(api.put(`/v1/watches/${watchId}`, body));
  expect((await run('plan')).stdout).toContain('paused: true → false');
  await change('watches/new-orders.yaml', (text) => text.replace('3600', '600'));
  expect(await run('apply')).toMatchObject({ code: 0, stdout: '1 change\n' });
  expect(await stored()).toMatchObject({ watchId, paused: false, schedule: { everyS: 600 } });

  await rm(join(dir, 'watches/new-orders.yaml'));
  expect((await run('plan')).stdout).toContain('these watches of the hub, which stay');
  expect(await run('apply', '--prune')).toMatchObject({ code: 0, stdout: '1 change\n' });
  expect(await stored()).toBeUndefined();
  await api.ok(api.delete(`/v1/destinations/${destinationId}`));
});
