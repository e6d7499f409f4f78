import { createCallContext } from '@datahub/service-kit/call/call';
import { createIdFactory } from '@datahub/service-kit/id';
import { expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import type { QueryDoc } from '../../src/documents.ts';
import { makeHub } from '../../src/hub.ts';
import { createHubCalls } from '../../src/rpc/hubs.ts';
import { openCatalogStore } from '../../src/store.ts';

const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
const ctx = () => createCallContext({ timeoutMs: 60_000, principal });

it('a tree of more nodes than are shown says so', { timeout: 60_000 }, async () => {
  const store = await openCatalogStore('sqlite::memory:');
  const createId = createIdFactory({ namespace: 'dh' });
  const hub = makeHub({ label: 'large' }, { accountId: 'a', nowMs: 1, createId });
  await store.hubs.insert(hub);
  const add = (from: number, to: number) =>
    Promise.all(
      Array.from({ length: to - from }, (_, i) =>
        store.queries.insert({
          id: `q${from + i}`,
          accountId: 'a',
          version: 1,
          hubId: hub.id,
          parentNodeId: hub.queriesNodeId,
          label: 'q',
          createdAt: 1,
        } as QueryDoc),
      ),
    );
  const { getHubContents } = createHubCalls({ store } as Catalog);
  try {
    await add(0, 50_000);
    expect((await getHubContents({ hubId: hub.id }, ctx())).truncated).toBeUndefined();
    await add(50_000, 50_001);
    const { root, truncated } = await getHubContents({ hubId: hub.id }, ctx());
    expect([root?.children[0]?.children.length, truncated]).toEqual([50_000, true]);
  } finally {
    await store.close();
  }
});
