/** Whether connections to a source open, as executors see it. A change is an event. */

import { insertIfNew } from '@datahub/document-store';
import { type Catalog, overtaken, untilWritten } from '../catalog.ts';
import type { SourceCheckDoc, SourceDoc } from '../documents.ts';
import { hubEvent } from './hub-event.ts';

interface Seen {
  reachable: boolean;
  code?: string | undefined;
}

export async function noteSource(catalog: Catalog, source: SourceDoc, seen: Seen): Promise<void> {
  const { id, accountId, hubId, label } = source;
  const { sourceChecks } = catalog.store;
  await untilWritten(async () => {
    const known = await sourceChecks.get(accountId, id);
    if ((known?.unreachableSince === undefined) === seen.reachable) return;
    const first: SourceCheckDoc = { id, accountId, hubId, version: 0, takenAt: 0 };
    const { unreachableSince, ...rest } = known ?? first;
    const type = seen.reachable ? 'source.reachable' : 'source.unreachable';
    const since = unreachableSince === undefined ? undefined : new Date(unreachableSince).toISOString();
    const data = { sourceId: id, label, code: seen.code, unreachableSince: since };
    const said = await hubEvent(catalog, { accountId, hubId, type, data });
    const changed = seen.reachable ? {} : { unreachableSince: catalog.nowMs() };
    const next = { ...rest, ...changed, version: rest.version + 1 };
    if (known !== null) return (await sourceChecks.replace(next, said)) ? undefined : overtaken;
    return (await insertIfNew(sourceChecks, next, said)) ? undefined : overtaken;
  });
}
