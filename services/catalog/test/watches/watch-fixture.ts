/** A catalog with a clock of its own, for tests of watches on every store. */

import { createQuota } from '@datahub/document-store/quota';
import type {
  EndTickRequest,
  TakenTick,
  TakeTicksRequest,
  WatchSettings,
} from '@datahub/proto/catalog/v1/watches';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type CallContext, createCallContext } from '@datahub/service-kit/call/call';
import { createIdFactory } from '@datahub/service-kit/id';
import type { Catalog } from '../../src/catalog.ts';
import type { KeyDoc, QueryDoc } from '../../src/documents.ts';
import { makeHub } from '../../src/hub.ts';
import { createLeftovers } from '../../src/maintenance/leftovers.ts';
import { createKeyCalls } from '../../src/rpc/keys.ts';
import { createTickCalls } from '../../src/rpc/ticks.ts';
import { createWatchRunCalls } from '../../src/rpc/watch-runs.ts';
import { createWatchCalls } from '../../src/rpc/watches.ts';
import type { CatalogStore } from '../../src/store.ts';
import { createSchedules, type Schedule } from '../../src/watches/schedule.ts';
import { clockOf, leaf, principalOf } from '../catalog-fixture.ts';

export const start = Date.parse('2026-05-01T00:00:00Z');

async function openHub(open: () => Promise<CatalogStore>) {
  const store = await open();
  const createId = createIdFactory({ namespace: 'dh' });
  const accountId = 'a';
  const hub = makeHub({ label: 'h', path: undefined }, { accountId, nowMs: 1, createId });
  await store.hubs.insert(hub);
  const keyId = createId('key', 1);
  const key = { id: keyId, accountId, version: 1, hash: keyId, name: 'k', scopes: ['*'], limits: {} };
  await store.keys.insert({
    ...key,
    lastCharacters: '',
    createdAt: 1,
    expiresAt: null,
    lastUsedAt: 1,
  } as KeyDoc);
  const insertQuery = async (command: string): Promise<string> => {
    const id = createId('q', 1);
    await store.queries.insert({
      ...leaf(hub, id),
      command,
      query: '',
      context: [],
      sourceId: 's',
    } as never as QueryDoc);
    return id;
  };
  const [reading, writing] = [await insertQuery('SELECT'), await insertQuery('INSERT')];
  return { store, createId, hub, keyId, reading, writing };
}

/** Oldest first. */
async function readRuns(calls: ReturnType<typeof createWatchRunCalls>, watchId: string, ctx: CallContext) {
  const page = { outcome: undefined, hubId: undefined, offset: 0, limit: undefined };
  const { runs } = await calls.listWatchRuns({ watchId, ...page }, ctx);
  return runs
    .map(({ dueAt, untilAt, outcome, ticks, code, manual }) => ({
      due: ((dueAt as Date).getTime() - start) / 1_000,
      until: ((untilAt as Date).getTime() - start) / 1_000,
      outcome,
      ticks,
      code,
      manual,
    }))
    .toSorted((a, b) => a.due - b.due);
}

const none = {
  path: undefined,
  contextJson: '{}',
  condition: undefined,
  by: [],
  include: [],
  to: [],
  paused: false,
};
const every = { everyS: undefined, cron: undefined, timeZone: undefined, spreadS: undefined };

export async function openCase(open: () => Promise<CatalogStore>) {
  const { store, createId, hub, keyId, reading, writing } = await openHub(open);
  const { accountId } = hub;
  let now = start;
  const catalog = {
    store,
    createId,
    nowMs: () => now,
    namespace: 'dh',
    quota: createQuota(0),
    leftovers: createLeftovers((err) => {
      throw err;
    }),
    ...{ schedules: createSchedules(), eventClock: clockOf(() => now) },
  } as unknown as Catalog;
  const calls = {
    ...createWatchCalls(catalog),
    ...createWatchRunCalls(catalog),
    ...createTickCalls(catalog),
    ...createKeyCalls(catalog),
  };
  const principal: Principal = { ...principalOf(accountId), keyId };
  const ctx = (operation?: string) => ({ ...createCallContext({ timeoutMs: 60_000, principal }), operation });
  const create = async (schedule: Schedule, more: Partial<WatchSettings> = {}): Promise<string> => {
    const settings = {
      label: 'w',
      queryId: reading,
      when: 'always',
      ...none,
      schedule: { ...every, ...schedule },
      ...more,
    };
    const { watch } = await calls.createWatch({ hubId: hub.id, settings }, ctx());
    return watch?.watchId as string;
  };
  const takeTicks = (limit = 100, share: Partial<TakeTicksRequest> = {}) =>
    calls.takeTicks({ limit, running: [], accountMax: 0, ...share });
  const take = async (limit = 100): Promise<TakenTick[]> => (await takeTicks(limit)).ticks;
  const end = (tick: TakenTick, found: Partial<EndTickRequest> = {}) =>
    calls.endTick(
      {
        watchId: tick.watchId,
        lease: tick.lease,
        outcome: 'ok',
        changes: undefined,
        snapshot: undefined,
        toldNdjson: Buffer.alloc(0),
        durationMs: 1,
        ...found,
      },
      ctx(),
    );
  const runsOf = (watchId: string) => readRuns(calls, watchId, ctx());
  const eventsOf = async () => (await store.events.find({ accountId, limit: 1_000 })).map(({ type }) => type);
  return {
    ...{ store, calls, ctx, create, take, end, runsOf, eventsOf, keyId, reading, writing, hub },
    ...{ accountId, takeTicks },
    wait: (seconds: number) => {
      now += Math.round(seconds * 1_000);
    },
    close: () => store.close(),
  };
}

export const everyTen = { everyS: 10, missed: 'skip' } as const;
