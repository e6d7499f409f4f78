/** The RPCs that read what watches did: runs, their rows, and events. */

import { membersOf } from '@datahub/contract/json-text';
import { isGranted } from '@datahub/contract/scopes';
import { runOutcomes } from '@datahub/contract/watches';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { fieldError, HubError } from '@datahub/service-kit/call/error';
import { createFixedId } from '@datahub/service-kit/id';
import { type Catalog, loadHub, loadQuery, loadWatch, notFound } from '../catalog.ts';
import type { EventDoc } from '../events/documents.ts';
import { newestEventId } from '../events/event-clock.ts';
import { isLimitedToQueries, keyLimits, requireMayReadWatches } from '../key-limits.ts';
import { findBatches, listPage } from '../pagination.ts';
import type { WatchRunDoc } from '../watches/documents.ts';
import { requireMayMake } from '../watches/maker.ts';
import { toEvent, toRun } from '../watches/to-proto.ts';

export function createWatchRunCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    listWatchRuns: async ({ watchId, hubId, outcome, offset, limit }, ctx) => {
      const principal = requirePrincipal(ctx);
      if (outcome !== undefined && !runOutcomes.some((one) => one === outcome))
        throw fieldError([{ path: ['outcome'], detail: `must be one of ${runOutcomes.join(', ')}` }]);
      if (watchId !== undefined) await loadWatch(catalog, principal, watchId);
      else await requireHubRuns(catalog, principal, hubId);
      const asked = Object.entries({ watchId, hubId: watchId === undefined ? hubId : undefined, outcome });
      const where = Object.fromEntries(asked.filter(([, value]) => value !== undefined)) as Record<
        string,
        string
      >;
      const { accountId } = principal;
      const page = { offset, limit };
      const { docs, total } = await listPage(store.watchRuns, { accountId, where, descending: true }, page);
      return { runs: docs.map(toRun), total };
    },

    getWatchRun: async ({ watchId, runId }, ctx) => ({
      run: toRun(await loadRun(catalog, requirePrincipal(ctx), { watchId, runId })),
    }),

    getWatchRunRows: async ({ watchId, runId }, ctx) => {
      const principal = requirePrincipal(ctx);
      const watch = await loadWatch(catalog, principal, watchId);
      // Whoever reads the rows must be able to execute the query now, without limits that would show other rows.
      requireMayMake(principal, await loadQuery(catalog, principal, watch.queryId));
      const { rowsId } = await loadRun(catalog, principal, { watchId, runId });
      const rows = rowsId === undefined ? null : await store.watchRunRows.get(principal.accountId, rowsId);
      if (rows === null)
        throw new HubError(
          'NOT_FOUND',
          'The run has no rows: it found none, the watch includes no columns, they are older than 7 days, or newer rows took their place.',
        );
      return { ndjson: Buffer.from(rows.ndjson) };
    },

    listEvents: createListEvents(catalog),
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

/** The runs of a hub are also those of queries that a key which is limited to queries may not use. */
async function requireHubRuns(catalog: Catalog, principal: Principal, hubId: string | undefined) {
  requireMayReadWatches(principal.limits);
  if (isLimitedToQueries(principal.limits))
    throw new HubError('SCOPE_DENIED', 'A key that is limited to queries may list only the runs of a watch.');
  if (hubId !== undefined) await loadHub(catalog, principal, hubId);
  else if (keyLimits.hubIds.ids(principal.limits) !== undefined)
    throw new HubError(
      'SCOPE_DENIED',
      'A key that is limited to hubs may list the runs of a hub. Name it in hubId.',
    );
}

async function loadRun(
  catalog: Catalog,
  principal: Principal,
  { watchId, runId }: { watchId: string; runId: string },
): Promise<WatchRunDoc> {
  await loadWatch(catalog, principal, watchId);
  const run = await catalog.store.watchRuns.get(principal.accountId, runId);
  if (run?.watchId !== watchId) throw notFound('run');
  return run;
}

function createListEvents(catalog: Catalog): Calls<typeof CatalogServiceService>['listEvents'] {
  return async ({ after, newest, hubId, type, limit }, ctx) => {
    const principal = requirePrincipal(ctx);
    const { accountId, limits, scopes } = principal;
    requireMayReadWatches(limits);
    // Events say what any query of a hub did.
    if (isLimitedToQueries(limits))
      throw new HubError('SCOPE_DENIED', 'A key that is limited to queries may not read events.');
    if (hubId !== undefined) await loadHub(catalog, principal, hubId);
    else if (keyLimits.hubIds.ids(limits) !== undefined)
      throw new HubError(
        'SCOPE_DENIED',
        'A key that is limited to hubs may read the events of a hub. Name it in hubId.',
      );
    const where = { ...(hubId === undefined ? {} : { hubId }), ...(type === undefined ? {} : { type }) };
    // Events of the last moments are not shown, because one with an earlier id may still be written, and a reader that has
    // passed it would miss it.
    const until = catalog.eventClock.settled(await newestEventId(catalog.store, accountId));
    const found: EventDoc[] = [];
    // The limit counts what is shown, so the store leaves out what is not.
    const beforeId = firstIdAt(catalog, until + 1);
    const order = newest ? { descending: true } : after === '' ? {} : { afterId: after };
    const filter = { accountId, where, beforeId, ...order };
    for await (const batch of findBatches(catalog.store.events, filter, { offset: 0, limit }))
      found.push(...batch);
    const mayReadRows = isGranted(scopes, 'queries:execute');
    return { events: found.map((doc) => toEvent(mayReadRows ? doc : withoutRows(doc))) };
  };
}

/** No event of this time has an earlier id. */
const firstIdAt = ({ namespace }: Catalog, atMs: number): string =>
  createFixedId({ namespace, kind: 'evt', atMs }, Buffer.alloc(10));

/** For a key that may not execute queries. */
function withoutRows(doc: EventDoc): EventDoc {
  if (!doc.type.startsWith('watch.')) return doc;
  const kept = [...membersOf(doc.dataJson)].filter(([name]) => name !== 'rows');
  return { ...doc, dataJson: `{${kept.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join()}}` };
}
