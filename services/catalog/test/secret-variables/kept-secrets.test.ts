import { expect, it } from 'vitest';
import { createQueryVersionCalls } from '../../src/rpc/query-versions.ts';
import { openCatalogWithHub } from '../catalog-fixture.ts';

it('are not in earlier versions while the variable is secret', async () => {
  const { catalog, calls, hub, ctx } = await openCatalogWithHub();
  const variables = [
    { key: 'token', valueJson: '"s3cret"' },
    { key: 'n', valueJson: '1.50' },
  ];
  const wanted = { hubId: hub.id, label: 'q', sourceId: 's', query: 'SELECT 1', notNull: [] };
  const { query } = await calls.createQuery({ ...wanted, context: { variables } }, ctx());
  const queryId = query?.queryId as string;
  const change = (isSecret: boolean) => {
    const context = { variables: [isSecret ? { key: 'token', secret: true } : { key: 'token' }] };
    return calls.updateQuery({ queryId, context, moreVersions: [] }, ctx());
  };
  const { listQueryVersions, restoreQuery } = createQueryVersionCalls(catalog);
  const oldest = async () =>
    (await listQueryVersions({ queryId }, ctx())).versions.at(-1)?.query?.context.map((one) => one.valueJson);
  await change(true);
  expect(await oldest()).toEqual([undefined, '1.50']);
  await change(false);
  expect(await oldest()).toEqual(['"s3cret"', '1.50']);
  await change(true);
  const restored = await restoreQuery({ queryId, number: 1, moreVersions: [] }, ctx());
  expect(restored.query?.context.map((one) => one.valueJson)).toEqual(['"s3cret"', '1.50']);
});
