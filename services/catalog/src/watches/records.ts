/** The records that a change of a watch's state writes beside it: runs, events, audit entries. */

import { createHash } from 'node:crypto';
import type { CompanionWrite } from '@datahub/document-store';
import { createFixedId } from '@datahub/service-kit/id';
import type { Catalog } from '../catalog.ts';
import type { AuditDoc } from '../documents.ts';
import type { WatchDoc, WatchRunDoc } from './documents.ts';

/** The id of the run of a tick, the same whoever runs it. */
export function runIdOf({ namespace }: Pick<Catalog, 'namespace'>, watchId: string, tick: number): string {
  const seed = createHash('sha256').update(`${watchId} ${tick}`).digest();
  return createFixedId({ namespace, kind: 'wrun', atMs: tick }, seed);
}

export const runRecord = (doc: WatchRunDoc): CompanionWrite => ({ collection: 'watchRuns', doc });

/** Ticks in a row that nobody runs. */
export interface Span {
  first: number;
  last: number;
  ticks: number;
}

export function spanRecord(
  catalog: Catalog,
  watch: WatchDoc,
  { span, ...why }: { span: Span; outcome: 'missed' | 'skipped'; code?: string; detail?: string },
): CompanionWrite {
  const { schedule } = watch;
  const ticks =
    'everyS' in schedule ? Math.floor((span.last - span.first) / (1_000 * schedule.everyS)) + 1 : span.ticks;
  return runRecord({
    id: runIdOf(catalog, watch.id, span.first),
    accountId: watch.accountId,
    version: 1,
    watchId: watch.id,
    hubId: watch.hubId,
    dueAt: span.first,
    untilAt: span.last,
    ticks,
    manual: false,
    startedAt: null,
    endedAt: catalog.nowMs(),
    ...why,
  });
}

/** What every event of a watch says of it. */
export const watchData = ({ id, label, path, queryId }: WatchDoc) => ({
  watchId: id,
  label,
  ...(path === undefined ? {} : { path }),
  queryId,
});

/** The entry for a change that the hub makes by itself. */
export function pauseEntry(catalog: Catalog, { id, accountId, keyId }: WatchDoc): CompanionWrite {
  const at = catalog.nowMs();
  const doc: AuditDoc = {
    id: catalog.createId('evt', at),
    accountId,
    version: 1,
    at,
    keyId,
    requestId: '',
    count: 1,
    failed: 0,
    action: 'watch.pause',
    resourceId: id,
  };
  return { collection: 'audit', doc };
}
