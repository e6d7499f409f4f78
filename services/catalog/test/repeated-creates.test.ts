import { createQuota } from '@datahub/document-store/quota';
import { expect, it } from 'vitest';
import { createBoardCalls } from '../src/boards/board-calls.ts';
import { createDestinationCalls } from '../src/rpc/destinations.ts';
import { openCatalogWithHub } from './catalog-fixture.ts';

async function open() {
  const opened = await openCatalogWithHub();
  const { catalog, hub } = opened;
  const calls = { ...opened.calls, ...createBoardCalls(catalog) };
  catalog.quota = createQuota(2);
  const { id: hubId } = hub;
  const connectionSettings = { host: 'db', port: 5432, database: 'd', user: 'u', password: 'p' };
  const settings = { label: 'b', cardsJson: '[]', valuesJson: '{}' };
  const query = { hubId, label: 'l', sourceId: 's', query: 'SELECT 1', notNull: [] };
  type Ctx = ReturnType<typeof opened.ctx>;
  const creates = {
    hub: (ctx: Ctx) => calls.createHub({ label: 'l' }, ctx),
    folder: (ctx: Ctx) => calls.createFolder({ hubId, label: 'l' }, ctx),
    source: (ctx: Ctx) =>
      calls.createSource({ hubId, label: 'l', engine: 'postgres', connectionSettings }, ctx),
    query: (ctx: Ctx) => calls.createQuery(query, ctx),
    board: (ctx: Ctx) => calls.createBoard({ hubId, settings }, ctx),
  };
  return { ...opened, creates };
}

it.each(['hub', 'folder', 'source', 'query', 'board'] as const)(
  'a %s that an earlier attempt has created is no refusal by the quota that it fills',
  async (kind) => {
    const { creates, ctx } = await open();
    const create = creates[kind];
    // The hub and its source are there already.
    if (kind !== 'hub' && kind !== 'source') await create(ctx());
    const operation = { ...ctx(), operation: '42:o' };
    const first = await create(operation);
    expect(await create(operation)).toEqual(first);
    await expect(create(ctx())).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
  },
);

it('a destination that an earlier attempt has created asks its recipient once', async () => {
  const { catalog, store, ctx } = await open();
  catalog.mail = { url: 'https://hub.example', domains: [], hourlyMax: 10 };
  const calls = createDestinationCalls(catalog);
  const settings = { label: 'm', url: '', mailTo: 'a@example.com', hubIds: [], events: [], disabled: false };
  const operation = { ...ctx(), operation: '42:o' };
  const { destination } = await calls.createDestination({ settings }, operation);
  for (let i = 0; i < 3; i++)
    await expect(calls.createDestination({ settings }, operation)).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
      message: expect.stringContaining(`created ${destination?.destinationId}.`),
    });
  const asks = await store.windows.find({ accountId: 'a', limit: 10 });
  expect(asks.map(({ taken }) => taken)).toEqual([1]);
});
