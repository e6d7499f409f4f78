import { HubError } from '@datahub/service-kit/call/error';
import { expect, it } from 'vitest';
import { createBoardCalls } from '../src/boards/board-calls.ts';
import { removeSecretsOnce } from '../src/maintenance/secret-sweep.ts';
import { createQueryCalls } from '../src/rpc/queries.ts';
import { createWatchCalls } from '../src/rpc/watches.ts';
import { openCatalogWithHub } from './catalog-fixture.ts';

const settings = { label: 'Sales', path: 'sales', cardsJson: '[]', valuesJson: '{}' };

async function openBoards() {
  const { catalog, store, hub, ctx } = await openCatalogWithHub();
  const calls = createBoardCalls(catalog);
  const create = () => calls.createBoard({ hubId: hub.id, settings }, ctx());
  return { calls, create, store, hub, ctx };
}

it('stays as it is if nothing of it changes', async () => {
  const { calls, create, ctx } = await openBoards();
  const { board } = await create();
  const update = (label: string) =>
    calls.updateBoard(
      { boardId: board?.boardId ?? '', settings: { ...settings, label }, moreVersions: [] },
      ctx(),
    );
  expect((await update('Sales')).board).toEqual(board);
  expect((await update('Orders')).board?.version).toBe(2);
});

it('may be there if the hub cannot be looked at after it was created', async () => {
  const { create, store, hub } = await openBoards();
  const { get } = store.hubs;
  let reads = 0;
  store.hubs.get = async (...of) => {
    if (++reads === 2) throw new HubError('UNAVAILABLE', 'The store cannot be reached.', { retryable: true });
    return get.apply(store.hubs, of);
  };
  await expect(create()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  expect(await store.boards.count({ accountId: 'a', where: { hubId: hub.id } })).toBe(1);
});

const secretQuery = {
  ...{ label: 'q', sourceId: 's', query: 'SELECT 1', notNull: [] },
  context: { variables: [{ key: 'pw', secret: true }, { key: 'n' }] },
};

it('of an older release loses the values of secret variables, and nothing else, at the first start', async () => {
  const { store, calls, hub, ctx } = await openBoards();
  const { catalog } = await openCatalogWithHub();
  const { createQuery } = createQueryCalls({ ...catalog, store });
  const { query } = await createQuery({ hubId: hub.id, ...secretQuery, path: 'q' }, ctx());
  const doc = { accountId: 'a', version: 1, hubId: hub.id, label: 'b', createdAt: 1, updatedAt: null };
  const cardsJson = `[{"text":"t"},{"queryId":"${query?.queryId}","values":{"pw":"s3cret","n":1.50}},{"path":"q","values":{"pw":"s3cret"}}]`;
  const older = { ...doc, id: 'brd', cardsJson, valuesJson: '{"pw":"s3cret","n":2.0}' };
  const other = { ...doc, id: 'other', cardsJson: '[ {"text":"t"} ]', valuesJson: '{"pw":"mine"}' };
  await store.boards.insertMany([older, other]);
  await store.accounts.insert({ id: 'a', accountId: 'a', version: 1, name: 'first', createdAt: 1 });
  const warned: unknown[] = [];
  const deps = { logger: { warn: (fields: object) => void warned.push(fields) }, nowMs: () => 42 };
  await removeSecretsOnce(store, deps);
  const { board } = await calls.getBoard({ boardId: 'brd' }, ctx());
  expect(board?.settings).toMatchObject({
    cardsJson: `[{"text":"t"},{"queryId":"${query?.queryId}","values":{"n":1.50}},{"path":"q","values":{}}]`,
    valuesJson: '{"n":2.0}',
  });
  expect(await store.boards.get('a', 'other')).toEqual(other);
  expect(warned).toEqual([{ event: 'board.secrets', accountId: 'a', boardId: 'brd' }]);
  await store.boards.insert({ ...older, id: 'later' });
  await removeSecretsOnce(store, deps);
  expect(warned).toHaveLength(1);
});

it('keeps no value for a query with a secret variable that takes the path of a card later', async () => {
  const { calls, store, hub, ctx } = await openBoards();
  const { catalog } = await openCatalogWithHub();
  const { createQuery, updateQuery } = createQueryCalls({ ...catalog, store });
  const cards = { ...settings, cardsJson: '[{"path":"later","values":{"pw":"s3cret"}}]' };
  await calls.createBoard({ hubId: hub.id, settings: cards }, ctx());
  const refused = expect.objectContaining({
    code: 'CONFLICT',
    message: expect.stringContaining('The board "Sales"'),
  });
  const wanted = { hubId: hub.id, ...secretQuery };
  await expect(createQuery({ ...wanted, path: 'later' }, ctx())).rejects.toEqual(refused);
  const { query } = await createQuery({ ...wanted, path: 'other' }, ctx());
  const moved = { queryId: query?.queryId as string, path: 'later', moreVersions: [] };
  await expect(updateQuery(moved, ctx())).rejects.toEqual(refused);
});

it('and a watch of an older release does not show the value of a secret variable', async () => {
  const { catalog, store, calls, hub, ctx } = await openCatalogWithHub();
  const { query } = await calls.createQuery({ hubId: hub.id, ...secretQuery }, ctx());
  const schedule = { everyS: 60, missed: 'skip' as const };
  await store.watches.insert({
    ...{ id: 'w', accountId: 'a', version: 1, hubId: hub.id, label: 'w', createdAt: 1, updatedAt: null },
    ...{
      queryId: query?.queryId as string,
      contextJson: '{"pw":"s3cret","n":1.50}',
      schedule,
      when: 'failed',
    },
    ...{ by: [], include: [], to: [], paused: 0, keyId: 'k' },
  });
  const { watch } = await createWatchCalls(catalog).getWatch({ watchId: 'w' }, ctx());
  expect(watch?.settings?.contextJson).toBe('{"n":1.50}');
  // Nor does it keep the query from getting another path.
  const moved = { queryId: query?.queryId as string, path: 'moved', moreVersions: [] };
  expect((await calls.updateQuery(moved, ctx())).query?.path).toBe('moved');
});
