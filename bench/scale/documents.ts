/** The documents of many accounts, as the catalog stores them. */

import type { CatalogService } from '@datahub/catalog/service';
import type { CatalogStore } from '@datahub/catalog/store';
import { hashApiKey } from '@datahub/service-kit/api-key';
import { createCallContext } from '@datahub/service-kit/call/call';

/** Of one account: itself, a key, hubs, a source each, and queries. */
const shape = { hubs: 10, queriesPerHub: 8 };
export const documentsPerAccount = 2 + shape.hubs * (2 + shape.queriesPerHub);
const writers = 256;
const at = Date.UTC(2026, 0, 1);

const idOf = (kind: string, number: number) => `dh.${kind}.${String(number).padStart(30, '0')}`;
const keyOf = (account: number) => `scale-key-${String(account).padStart(30, '0')}`;

/** What one account is known by. */
export interface Known {
  accountId: string;
  key: string;
  hubId: string;
  sourceId: string;
  queryId: string;
}

export function known(account: number): Known {
  const hub = account * shape.hubs;
  return {
    accountId: idOf('acct', account),
    key: keyOf(account),
    hubId: idOf('hub', hub),
    sourceId: idOf('src', hub),
    queryId: idOf('q', hub * shape.queriesPerHub),
  };
}

/** Writes whole accounts, several at a time. */
export async function load(store: CatalogStore, accounts: number): Promise<void> {
  let next = 0;
  const writer = async () => {
    while (next < accounts) await writeAccount(store, next++);
  };
  await Promise.all(Array.from({ length: writers }, writer));
}

async function writeAccount(store: CatalogStore, account: number): Promise<void> {
  const { accountId, key } = known(account);
  const dated = { accountId, version: 1, createdAt: at, updatedAt: null };
  await store.accounts.insert({ id: accountId, accountId, version: 1, name: accountId, createdAt: at });
  await store.keys.insert({
    id: idOf('key', account),
    accountId,
    version: 1,
    hash: hashApiKey(key),
    name: 'scale',
    scopes: ['*'],
    limits: {},
    lastCharacters: key.slice(-4),
    createdAt: at,
    expiresAt: null,
    lastUsedAt: null,
  });
  for (let i = 0; i < shape.hubs; i++) {
    const number = account * shape.hubs + i;
    const hubId = idOf('hub', number);
    const sourceId = idOf('src', number);
    const [queriesNodeId, sourcesNodeId] = [idOf('hrt', 2 * number), idOf('hrt', 2 * number + 1)];
    const secret = { sealed: 'x'.repeat(160), mask: 're********' };
    await store.hubs.insert({
      ...dated,
      ...{ id: hubId, label: `Hub ${i}`, archived: 0, deleting: 0, queriesNodeId, sourcesNodeId },
    });
    await store.sources.insert({
      ...dated,
      ...{ id: sourceId, hubId, parentNodeId: sourcesNodeId, label: 'Source', engine: 'postgres' },
      ...{ host: 'db.example', port: 5432, database: 'shop', user: secret, password: secret },
      ...{ tls: { mode: 'prefer' }, pool: {}, statementTimeoutMs: null, settingsVersion: 1 },
    });
    for (let j = 0; j < shape.queriesPerHub; j++) {
      await store.queries.insert({
        ...dated,
        ...{ id: idOf('q', number * shape.queriesPerHub + j), hubId, parentNodeId: queriesNodeId },
        ...{ label: `Query ${j}`, sourceId, engine: 'postgres', command: 'SELECT' },
        query: 'SELECT region, sum(amount) AS total FROM orders WHERE region = :region GROUP BY region',
        context: [{ key: 'region', type: 'string' }],
      });
    }
  }
}

/** The calls of the catalog that requests make. Each runs in the account that it is given. */
export function operations({ calls, internal }: CatalogService) {
  const ctx = ({ accountId }: Known) => {
    const principal = { accountId, keyId: 'dh.key.0', scopes: ['*'], limits: undefined };
    return createCallContext({ timeoutMs: 60_000, principal });
  };
  let label = 0;
  return {
    'check a key': (one: Known) =>
      calls.authenticate({ keySha256: Buffer.from(hashApiKey(one.key), 'hex') }, ctx(one)),
    'resolve a query for its execution': (one: Known) =>
      internal.resolveQuery({ queryId: one.queryId }, ctx(one)),
    'get a query': (one: Known) => calls.getQuery({ queryId: one.queryId, signature: false }, ctx(one)),
    'list 10 hubs': (one: Known) =>
      calls.listHubs({ page: { offset: 0, limit: 10 }, archived: false }, ctx(one)),
    'contents of a hub': (one: Known) => calls.getHubContents({ hubId: one.hubId }, ctx(one)),
    'list the sources of a hub': (one: Known) =>
      calls.listSources({ hubId: one.hubId, page: undefined }, ctx(one)),
    'create a query': (one: Known) =>
      calls.createQuery(
        {
          ...{ hubId: one.hubId, sourceId: one.sourceId, label: `New ${label++}`, query: 'SELECT 1' },
          ...{ context: undefined, cache: undefined, tool: undefined, notNull: [] },
        },
        ctx(one),
      ),
    'change a query': (one: Known) =>
      calls.updateQuery(
        {
          ...{ queryId: one.queryId, label: `Changed ${label++}`, context: undefined },
          ...{ moreVersions: [], cache: undefined, notNull: undefined, tool: undefined },
        },
        ctx(one),
      ),
  };
}
