/** The RPCs of watches. */

import type { CompanionWrite } from '@datahub/document-store';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { Watch, WatchSettings } from '@datahub/proto/catalog/v1/watches';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { fieldError, HubError } from '@datahub/service-kit/call/error';
import { operationIdOf } from '@datahub/service-kit/id';
import { inGroups } from '@datahub/service-kit/yield-to-loop';
import {
  type Catalog,
  insertOnce,
  loadHub,
  loadQuery,
  loadWatch,
  makeContext,
  overtaken,
  remove,
  untilWritten,
  update,
} from '../catalog.ts';
import type { QueryDoc } from '../documents.ts';
import { mayName } from '../events/destination.ts';
import { keyLimits, requireMayReadWatches } from '../key-limits.ts';
import { listPage, listSome } from '../pagination.ts';
import { secretsOf, withoutMembers } from '../secret-variables/kept-secrets.ts';
import type { WatchDoc } from '../watches/documents.ts';
import { forgetWatch } from '../watches/forget.ts';
import { requireMayHaveWatches, requireMayMake } from '../watches/maker.ts';
import { toWatch } from '../watches/to-proto.ts';
import { checkSettings, writes } from '../watches/watch.ts';
import { firstState, isRunning, replaceState, settleState } from '../watches/watch-state.ts';
import { auditEntry } from './audit.ts';
import { reachedQueries } from './query-names/reach.ts';

type WatchCalls = Calls<typeof CatalogServiceService>;

export function createWatchCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    createWatch: createCreateWatch(catalog),

    listWatches: async ({ hubId, offset, limit }, ctx) => {
      const principal = requirePrincipal(ctx);
      const { accountId, limits } = principal;
      requireMayReadWatches(limits);
      if (hubId !== undefined) await loadHub(catalog, principal, hubId);
      const page = { offset, limit };
      const queryIds = await reachedQueries(catalog, principal);
      const isListed = (watch: WatchDoc) =>
        (hubId === undefined || watch.hubId === hubId) &&
        keyLimits.hubIds.isAllowed(limits, watch.hubId) &&
        queryIds?.includes(watch.queryId) !== false;
      const isLimited =
        queryIds !== undefined || (hubId === undefined && keyLimits.hubIds.ids(limits) !== undefined);
      const { docs, total } = isLimited
        ? await listSome(store.watches, { accountId, isListed }, page)
        : await listPage(
            store.watches,
            { accountId, ...(hubId === undefined ? {} : { where: { hubId } }) },
            page,
          );
      return { watches: await inGroups(docs, shownAtOnce, (watch) => show(catalog, watch)), total };
    },

    getWatch: async ({ watchId }, ctx) => ({
      watch: await show(catalog, await loadWatch(catalog, requirePrincipal(ctx), watchId)),
    }),

    updateWatch: createUpdateWatch(catalog),

    deleteWatch: async ({ watchId, ...expected }, ctx) => {
      const principal = requirePrincipal(ctx);
      requireMayHaveWatches(principal.limits);
      const watch = await loadWatch(catalog, principal, watchId);
      await remove({
        collection: store.watches,
        load: () => loadWatch(catalog, principal, watchId),
        expected,
        entry: auditEntry(catalog, ctx, { rpc: 'deleteWatch', resourceId: watchId }),
      });
      await catalog.leftovers.finish(watchId, () => forgetWatch(catalog, watch));
      return {};
    },

    checkWatch: async ({ hubId, settings }, ctx) => {
      const principal = requirePrincipal(ctx);
      requireMayHaveWatches(principal.limits);
      const hub = await loadHub(catalog, principal, hubId);
      const wanted = requireSettings(settings);
      const query = await loadWatched(catalog, principal, { ...wanted, hubId: hub.id });
      checkSettings(wanted, query);
      return { writes: writes(query) };
    },

    runWatch: createRunWatch(catalog),
  } satisfies Partial<WatchCalls>;
}

/** Each state can have a quarter of a megabyte. */
const shownAtOnce = 16;

function createCreateWatch(catalog: Catalog): WatchCalls['createWatch'] {
  const { store } = catalog;
  return async ({ hubId, settings }, ctx) => {
    const { principal, accountId, nowMs, createId } = makeContext(catalog, ctx);
    requireMayHaveWatches(principal.limits);
    const hub = await loadHub(catalog, principal, hubId);
    const wanted = requireSettings(settings);
    const checked = checkSettings(
      wanted,
      await loadWatched(catalog, principal, { ...wanted, hubId: hub.id }),
    );
    const watch: WatchDoc = {
      ...checked,
      id: createId('wtch', nowMs),
      accountId,
      version: 1,
      hubId: hub.id,
      keyId: principal.keyId,
      createdAt: nowMs,
      updatedAt: null,
    };
    using _room = await catalog.quota.requireRoom(store.watches, watch, 'watches');
    const entry = auditEntry(catalog, ctx, { rpc: 'createWatch', resourceId: watch.id });
    const state = firstState(catalog, watch);
    const made = await insertWatch(catalog, watch, [{ collection: 'watchStates', doc: state }, entry]);
    // The hub may have been deleted meanwhile. Its sweep may have missed the watch.
    await loadHub(catalog, principal, hubId).catch(async (err) => {
      await store.watches.delete(accountId, watch.id);
      await forgetWatch(catalog, watch);
      throw err;
    });
    return { watch: await show(catalog, made) };
  };
}

function createUpdateWatch(catalog: Catalog): WatchCalls['updateWatch'] {
  const { store } = catalog;
  return async ({ watchId, settings, ...expected }, ctx) => {
    const principal = requirePrincipal(ctx);
    requireMayHaveWatches(principal.limits);
    const asked = requireSettings(settings);
    let reschedules = false;
    const watch = await update<WatchDoc>(catalog, {
      collection: store.watches,
      load: () => loadWatch(catalog, principal, watchId),
      change: async (doc) => {
        const wanted = await withoutDeleted(catalog, doc, asked);
        const query = await loadWatched(catalog, principal, { ...wanted, hubId: doc.hubId });
        const { id, accountId, version, hubId, createdAt, updatedAt } = doc;
        const checked = checkSettings(wanted, query);
        reschedules = JSON.stringify(checked.schedule) !== JSON.stringify(doc.schedule);
        const kept = { id, accountId, version, hubId, createdAt, updatedAt, keyId: principal.keyId };
        return { ...checked, ...kept };
      },
      expected,
      entry: auditEntry(catalog, ctx, { rpc: 'updateWatch', resourceId: watchId }),
    }).catch((err) => {
      throw toTaken(err, asked.path);
    });
    await settleState(catalog, watch, { reschedules });
    return { watch: await show(catalog, watch) };
  };
}

function createRunWatch(catalog: Catalog): WatchCalls['runWatch'] {
  const { store, namespace } = catalog;
  return async ({ watchId }, ctx) => {
    const principal = requirePrincipal(ctx);
    requireMayHaveWatches(principal.limits);
    const watch = await loadWatch(catalog, principal, watchId);
    requireMayMake(principal, await loadQuery(catalog, principal, watch.queryId));
    const at = catalog.nowMs();
    const runId = operationIdOf({ namespace, kind: 'wrun' }, ctx.operation) ?? catalog.createId('wrun', at);
    const entry = auditEntry(catalog, ctx, { rpc: 'runWatch', resourceId: watchId });
    return untilWritten(async () => {
      const state = await store.watchStates.get(watch.accountId, watchId);
      const isAsked = state?.asked?.runId === runId || state?.lease?.runId === runId;
      // An earlier attempt of the same operation has asked for the run.
      if (isAsked || (await store.watchRuns.get(watch.accountId, runId)) !== null) return { runId };
      if (state === null || watch.paused) throw new HubError('CONFLICT', 'The watch is paused.');
      if (state.asked !== undefined || isRunning(state))
        throw new HubError('CONFLICT', 'The watch is running.');
      const change = { asked: { runId, at }, dueAt: Math.min(at, state.dueAt ?? at) };
      return (await replaceState(catalog, state, { change, beside: [entry] })) ? { runId } : overtaken;
    });
  };
}

/** The query must be of the hub of the watch, and the caller must be able to do what the watch does. */
async function loadWatched(
  catalog: Catalog,
  principal: Principal,
  { queryId, hubId, to }: { queryId: string; hubId: string; to: string[] },
): Promise<QueryDoc> {
  const query = await loadQuery(catalog, principal, queryId);
  if (query.hubId !== hubId)
    throw fieldError([{ path: ['queryId'], detail: 'names a query of another hub' }]);
  requireMayMake(principal, query);
  await requireDestinations(catalog, principal, { to, hubId });
  return query;
}

/** Without destinations that the watch named and that were deleted since: they would refuse each change of the watch. */
async function withoutDeleted(
  { store }: Catalog,
  { accountId, to }: WatchDoc,
  settings: WatchSettings,
): Promise<WatchSettings> {
  const isLeft = async (id: string) =>
    !to.includes(id) || (await store.destinations.get(accountId, id)) !== null;
  const left = await Promise.all(settings.to.map(isLeft));
  return { ...settings, to: settings.to.filter((_, i) => left[i]) };
}

/** The destinations must exist, and the caller must be able to name them for the hub. */
async function requireDestinations(
  { store }: Catalog,
  principal: Principal,
  { to, hubId }: { to: string[]; hubId: string },
): Promise<void> {
  const found = await Promise.all(to.map((id) => store.destinations.get(principal.accountId, id)));
  const faults = found.flatMap((destination, i) =>
    destination !== null && mayName(principal, destination, hubId)
      ? []
      : [{ path: ['to', i], detail: 'names a destination that the hub does not have' }],
  );
  if (faults.length > 0) throw fieldError(faults);
}

function requireSettings(settings: WatchSettings | undefined): WatchSettings {
  if (settings === undefined) throw new HubError('INTERNAL', 'The call has no settings.');
  return settings;
}

async function insertWatch({ store }: Catalog, watch: WatchDoc, beside: CompanionWrite[]): Promise<WatchDoc> {
  try {
    return await insertOnce(store.watches, watch, beside);
  } catch (err) {
    throw toTaken(err, watch.path);
  }
}

function toTaken(err: unknown, path: string | undefined): unknown {
  if (!(err instanceof HubError) || err.code !== 'CONFLICT' || !path) return err;
  return new HubError('PATH_TAKEN', `Another watch of the hub has the path ${path}.`, { cause: err });
}

/** Older releases kept values of variables that are secret. Keeps no query in memory: one can have a megabyte. */
async function shownContext(
  { store }: Catalog,
  { accountId, queryId, contextJson }: WatchDoc,
): Promise<string> {
  if (contextJson === '{}') return contextJson;
  const query = await store.queries.get(accountId, queryId);
  return withoutMembers(contextJson, secretsOf(query?.context ?? []));
}

async function show(catalog: Catalog, watch: WatchDoc): Promise<Watch> {
  const { watchStates, watchRuns } = catalog.store;
  const contextJson = await shownContext(catalog, watch);
  const state = await watchStates.get(watch.accountId, watch.id);
  const lastRun =
    state?.lastRunId === undefined ? null : await watchRuns.get(watch.accountId, state.lastRunId);
  return toWatch({ ...watch, contextJson }, { state, lastRun });
}
