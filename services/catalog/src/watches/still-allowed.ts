/**
 * What a run that has ended may leave if its watch lost its rights meanwhile. The gateway learns of that with its next beat,
 * the executor or the end of the run can be earlier.
 */

import type { EndTickRequest } from '@datahub/proto/catalog/v1/watches';
import type { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../catalog.ts';
import type { WatchDoc } from './documents.ts';
import { isPausing, loadActing, pauses } from './maker.ts';
import { pauseWatch } from './watch-state.ts';

const nothing = { changes: undefined, isMet: false, snapshot: undefined, toldNdjson: Buffer.alloc(0) };

/** Pauses the watch if it may not run any more. A run that was refused for that, or has read more than it may, is skipped. */
export async function asAllowed(
  catalog: Catalog,
  accountId: string,
  request: EndTickRequest,
): Promise<EndTickRequest> {
  const watch = await catalog.store.watches.get(accountId, request.watchId);
  if (watch === null) return request;
  const denial = await denialOf(catalog, watch);
  if (denial === undefined) {
    // It was allowed again meanwhile.
    return watch.paused && wasRefused(request) ? { ...request, ...nothing, outcome: 'skipped' } : request;
  }
  await pauseWatch(catalog, watch, denial);
  const { code, message: detail } = denial;
  const skipped = { ...request, ...nothing, rows: undefined, outcome: 'skipped', code, detail };
  // Of a run that was stopped, the gateway may know only that.
  if (wasRefused(request) || request.outcome === 'skipped') return skipped;
  // Without its query, it still has the rights that the rows need.
  if (request.outcome !== 'ok' || code === 'NOT_FOUND') return request;
  return (await hasWritten(catalog, accountId, request))
    ? { ...request, toldNdjson: nothing.toldNdjson }
    : skipped;
}

async function denialOf(catalog: Catalog, watch: WatchDoc): Promise<HubError | undefined> {
  try {
    await loadActing(catalog, watch);
    return undefined;
  } catch (err) {
    if (pauses(err)) return err;
    throw err;
  }
}

const wasRefused = ({ outcome, code = '' }: EndTickRequest) => outcome === 'failed' && isPausing(code);

async function hasWritten({ store }: Catalog, accountId: string, { watchId, lease }: EndTickRequest) {
  const state = await store.watchStates.get(accountId, watchId);
  return state?.lease?.token === lease && state.lease.writes;
}
