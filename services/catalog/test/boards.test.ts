import { HubError } from '@datahub/service-kit/call/error';
import { expect, it } from 'vitest';
import { createBoardCalls } from '../src/boards/board-calls.ts';
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
