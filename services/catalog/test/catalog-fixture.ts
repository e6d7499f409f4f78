/** Principals and documents for the tests of the catalog's rules. */

import { createQuota } from '@datahub/document-store/quota';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { createCallContext } from '@datahub/service-kit/call/call';
import { createIdFactory } from '@datahub/service-kit/id';
import type { Catalog } from '../src/catalog.ts';
import type { HubDoc, SourceDoc } from '../src/documents.ts';
import { createEventClock } from '../src/events/event-clock.ts';
import { makeHub } from '../src/hub.ts';
import { createLeftovers } from '../src/maintenance/leftovers.ts';
import { createFolderCalls } from '../src/rpc/folders.ts';
import { createHubCalls } from '../src/rpc/hubs.ts';
import { createInternalCalls } from '../src/rpc/internal.ts';
import { createQueryCalls } from '../src/rpc/queries.ts';
import { createSourceCalls } from '../src/rpc/sources.ts';
import { openCatalogStore } from '../src/store.ts';

export function principalOf(
  accountId: string,
  limits: { hubIds?: string[]; queryIds?: string[] } = {},
): Principal {
  return {
    accountId,
    keyId: 'k',
    scopes: ['*'],
    limits: {
      hubIds: [],
      queryIds: [],
      classifierIds: [],
      queries: [],
      origins: [],
      contextJson: '',
      ...limits,
    },
  };
}

/** Of a catalog whose clock is set by its test. */
export const clockOf = (nowMs: () => number) => createEventClock({ nowMs, elapsedMs: nowMs });

/** The fields that queries and sources share. */
export const leaf = (of: HubDoc, id: string) => ({
  id,
  accountId: of.accountId,
  version: 1,
  hubId: of.id,
  parentNodeId: of.queriesNodeId,
  label: 'x',
  createdAt: 1,
  updatedAt: null,
});

/** A catalog with one hub and a source `s`, for tests of calls that meet. */
export async function openCatalogWithHub() {
  const store = await openCatalogStore('sqlite::memory:');
  const createId = createIdFactory({ namespace: 'dh' });
  const hub = makeHub({ label: 'h', path: 'shop' }, { accountId: 'a', nowMs: 1, createId });
  await store.hubs.insert(hub);
  const sealed = { sealed: '', mask: '' };
  const place = { ...leaf(hub, 's'), parentNodeId: hub.sourcesNodeId };
  const server = { engine: 'postgres' as const, host: 'db', port: 5432, database: 'd', pool: {} };
  const settings = { tls: { mode: 'prefer' as const }, statementTimeoutMs: null, settingsVersion: 1 };
  const source: SourceDoc = { ...place, ...server, ...settings, user: sealed, password: sealed };
  await store.sources.insert(source);
  const catalog = {
    store,
    createId,
    nowMs: () => 42,
    namespace: 'dh',
    seal: async (text: string) => `sealed ${text}`,
    quota: createQuota(0),
    leftovers: createLeftovers(() => {}),
    checkStatement: () => [],
    changes: { publish: async () => {} },
  } as unknown as Catalog;
  catalog.eventClock = clockOf(() => catalog.nowMs());
  const calls = {
    ...createHubCalls(catalog),
    ...createFolderCalls(catalog),
    ...createSourceCalls(catalog),
    ...createQueryCalls(catalog),
    ...createInternalCalls(catalog, { leaseMs: 1_000, queryRunsMax: 1_000 }),
  };
  const ctx = () => createCallContext({ timeoutMs: 60_000, principal: principalOf('a') });
  const createFolder = async (label: string, parentNodeId?: string): Promise<string> =>
    (await calls.createFolder({ hubId: hub.id, label, parentNodeId }, ctx())).folder?.nodeId as string;
  const createQuery = (parentNodeId?: string) => {
    const request = {
      hubId: hub.id,
      sourceId: 's',
      label: 'q',
      query: 'SELECT 1',
      notNull: [],
      parentNodeId,
    };
    return calls.createQuery(request, ctx());
  };
  return { store, catalog, calls, hub, source, ctx, createFolder, createQuery };
}

/** Runs `other` once, before or after the next call of a method. */
export function meet<T extends object>(
  target: T,
  name: keyof T,
  { when, other }: { when: 'before' | 'after'; other: () => Promise<unknown> },
): void {
  const original = (target[name] as (...args: unknown[]) => Promise<unknown>).bind(target);
  const met = async (...args: unknown[]) => {
    target[name] = original as never;
    if (when === 'before') await other();
    const result = await original(...args);
    if (when === 'after') await other();
    return result;
  };
  target[name] = met as never;
}
