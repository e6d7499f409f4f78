import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { api, engines } from '../support/hub.ts';
import { openPlace } from '../support/hub-files.ts';

const { copyExample, withTable, datahub } = await openPlace();

const board = `label: Sales
values: { region: north }
refreshMinutes: 5
cards:
  - text: "# Today"
  - { query: orders/by-region, size: large }
`;

it('plans, applies, exports and prunes boards, and shows what changed in the hub', async () => {
  const { dir, table, path, run, change, env } = await copyExample('boards', engines[0] as string);
  await withTable(engines[0] as string, table);
  expect((await run('apply')).code).toBe(0);
  await mkdir(join(dir, 'boards'));
  const file = 'boards/sales.yaml';
  await writeFile(join(dir, file), board.replace('orders/by-region', 'orders/none'));
  expect((await run('plan')).stderr).toContain('boards/sales.yaml:6:14: There is no query orders/none.');
  await writeFile(join(dir, file), board);

  const planned = await run('plan');
  expect([planned.code, planned.stdout]).toEqual([2, expect.stringContaining('+ board sales')]);
  expect(await run('apply')).toMatchObject({ code: 0, stdout: '1 change\n' });
  expect(await run('plan')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
  const hubs = await api.ok(api.get('/v1/hubs?limit=20'));
  const { hubId } = hubs.find((one: { path?: string }) => one.path === path);
  const stored = async () => (await api.ok(api.get(`/v1/boards?hubId=${hubId}`)))[0];
  const { boardId, ...made } = await stored();
  expect(made).toMatchObject({ path: 'sales', refreshMinutes: 5, values: { region: 'north' } });
  expect(made.cards).toEqual([{ text: '# Today' }, { path: 'orders/by-region', size: 'large' }]);

  // A file that says the same stays as it is written; into an empty directory the board is written anew.
  expect(await run('export')).toMatchObject({ code: 0, stderr: '' });
  expect(await readFile(join(dir, file), 'utf8')).toBe(board);
  await datahub.ok(['export', 'fresh-boards', '--hub', path], { env });
  expect(await readFile(join(datahub.dir, 'fresh-boards', file), 'utf8')).toContain(
    'query: orders/by-region',
  );

  // What somebody changes in the hub is drift; a card that names the query by its id says the same.
  const { queryId } = (await api.ok(api.get(`/v1/queries?hubId=${hubId}`))).find(
    ({ meta }: any) => meta.path === 'orders/by-region',
  ).config.query;
  const { hubId: _, ...body } = { ...made, refreshMinutes: null };
  const cards = [made.cards[0], { queryId, size: 'large' }];
  await api.ok(api.put(`/v1/boards/${boardId}`, { ...body, cards }));
  const drifted = await run('plan');
  expect(drifted.stdout).toContain('changes refreshMinutes\n');
  await change(file, (text) => text.replace('label: Sales', 'label: Revenue'));
  expect(await run('apply')).toMatchObject({ code: 0, stdout: '1 change\n' });
  expect(await stored()).toMatchObject({ boardId, label: 'Revenue', refreshMinutes: 5 });

  await rm(join(dir, file));
  expect((await run('plan')).stdout).toContain('these boards of the hub, which stay');
  expect(await run('apply', '--prune')).toMatchObject({ code: 0, stdout: '1 change\n' });
  expect(await stored()).toBeUndefined();
});
