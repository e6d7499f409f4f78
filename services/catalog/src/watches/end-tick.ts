/**
 * Ends a tick: the record of its run, its event and the next state of the watch are one write, so that nothing is lost or
 * told twice. Rows are written before, in documents of their own that only the state and the record name.
 */

import { withoutUndefined } from '@datahub/contract/complete';
import { comparedRowsMax, toldBytesMax } from '@datahub/contract/watches';
import type { CompanionWrite } from '@datahub/document-store';
import type { EndTickRequest } from '@datahub/proto/catalog/v1/watches';
import { HubError } from '@datahub/service-kit/call/error';
import { type Catalog, insertOnce, overtaken, untilWritten } from '../catalog.ts';
import type { EventDoc } from '../events/documents.ts';
import { eventRecords, makeEvent } from '../events/event.ts';
import { hasRoom, trimNowAndThen } from '../events/kept-bytes.ts';
import { conclude } from './conclude.ts';
import type { TickLease, WatchDoc, WatchRunDoc, WatchStateDoc } from './documents.ts';
import { runRecord, spanRecord, watchData } from './records.ts';
import { areComparable } from './same-rows.ts';
import { asAllowed } from './still-allowed.ts';
import { isAbout } from './watch.ts';
import { nextTickOf, replaceState, requireLease, spanOf } from './watch-state.ts';

/** Of each row the digests of its key and of its values. */
export const rowDigestBytes = 32;
/** Of one watch. They are counted again after some runs, so there can be a few more. */
const runsKept = 10_000;
const trimmedEvery = 500;
const rowsKeptMs = 7 * 86_400_000;
/** Bytes of rows in an event. */
const eventRowsBytesMax = 16_000;

type Found = Pick<EndTickRequest, 'outcome' | 'code' | 'detail' | 'changes'> &
  Partial<Pick<EndTickRequest, 'rows' | 'isMet' | 'queryVersion' | 'durationMs'>>;

interface Ended {
  watch: WatchDoc;
  lease: TickLease;
  found: Found;
  /** What was written before. */
  kept?: { snapshot?: WatchStateDoc['snapshot']; rowsId?: string | undefined; told?: Uint8Array };
}

/** Resolves to false if another call has changed the state since it was read. */
export async function endLease(
  catalog: Catalog,
  state: WatchStateDoc,
  { watch, lease, found, kept = {} }: Ended,
): Promise<boolean> {
  // If the watch was changed while it ran, what it found is about something else, and the next run starts anew.
  const isOther = lease.basis !== undefined && !isAbout(lease.basis, watch);
  const about = isOther ? { ...found, changes: undefined, isMet: false } : found;
  const { state: ended, type } = conclude(watch, state, about);
  const concluded = isOther ? { ...ended, basis: undefined } : ended;
  const event = type && (await eventOf(catalog, { watch, lease, found, told: kept.told }, type));
  const run: WatchRunDoc = withoutUndefined<WatchRunDoc>({
    id: lease.runId,
    accountId: watch.accountId,
    version: 1,
    watchId: watch.id,
    hubId: watch.hubId,
    dueAt: lease.tick,
    untilAt: lease.tick,
    ticks: 1,
    manual: lease.manual,
    startedAt: lease.startedAt,
    endedAt: catalog.nowMs(),
    outcome: found.outcome as WatchRunDoc['outcome'],
    code: found.code,
    detail: found.detail,
    rows: found.rows,
    changes: found.changes,
    queryVersion: found.queryVersion,
    durationMs: found.durationMs,
    eventId: event?.id,
    rowsId: kept.rowsId,
  });
  const { tick, skipped } = await following(catalog, state, { watch, lease });
  const told = event === undefined ? [] : await eventRecords(catalog, event, watch.to);
  const beside = [runRecord(run), ...skipped, ...told];
  const isSame = concluded.basis !== undefined && isAbout(state.basis, watch);
  const change = {
    level: undefined,
    basis: undefined,
    ...concluded,
    lease: undefined,
    tick,
    dueAt: state.asked === undefined ? tick : catalog.nowMs(),
    snapshot: isOther
      ? undefined
      : snapshotAfter({ found, kept, before: isSame ? state.snapshot : undefined }),
    lastRunId: run.id,
    runs: state.runs + 1,
    lastLease: lease.token,
  };
  return replaceState(catalog, state, { change, beside });
}

/** A run that found the same rows as the one before sends none, and they are also those of its version. */
function snapshotAfter({
  found: { outcome, queryVersion },
  kept,
  before,
}: Required<Pick<Ended, 'found' | 'kept'>> & { before: WatchStateDoc['snapshot'] }) {
  const snapshot = kept.snapshot ?? before;
  if (snapshot === undefined || outcome !== 'ok') return snapshot;
  return withoutUndefined<NonNullable<typeof snapshot>>({ ...snapshot, queryVersion });
}

/** The next tick, and the record of those that came due while this one ran. */
async function following(
  catalog: Catalog,
  { tick }: WatchStateDoc,
  { watch, lease }: Ended | { watch: WatchDoc; lease: TickLease },
): Promise<{ tick: number | null; skipped: CompanionWrite[] }> {
  if (watch.paused) return { tick: null, skipped: [] };
  if (lease.manual) return { tick, skipped: [] };
  const next = nextTickOf(catalog, watch);
  const now = catalog.nowMs();
  const first = next(lease.tick);
  if (first === null || first > now) return { tick: first, skipped: [] };
  const { before: _, ...span } = await spanOf(next, first, now);
  const why = { outcome: 'skipped', detail: 'The run before had not ended.' } as const;
  return { tick: next(span.last), skipped: [spanRecord(catalog, watch, { span, ...why })] };
}

type Told = Pick<Ended, 'watch' | 'lease' | 'found'> & { told: Uint8Array | undefined };

function eventOf(
  catalog: Catalog,
  { watch, lease, found, told }: Told,
  type: EventDoc['type'],
): Promise<EventDoc> {
  const { outcome, code, rows, changes } = found;
  // Details of errors can contain values of rows, which leave the hub only by the columns of `include`.
  const data = {
    ...watchData(watch),
    runId: lease.runId,
    dueAt: new Date(lease.tick).toISOString(),
    outcome,
    code,
    rowCount: rows,
    ...(changes === undefined ? {} : { new: changes.new, changed: changes.changed, gone: changes.gone }),
    ...(told === undefined ? {} : { rowsUrl: `/v1/watches/${watch.id}/runs/${lease.runId}/rows` }),
  };
  const dataJson = told === undefined ? JSON.stringify(data) : withRows(JSON.stringify(data), told);
  return makeEvent(catalog, { ...watch, type, dataJson });
}

/** Adds the first rows as they were read, so that no digit of a number is lost. */
function withRows(dataJson: string, told: Uint8Array): string {
  const end = told.length <= eventRowsBytesMax ? told.length : told.lastIndexOf(0x0a, eventRowsBytesMax);
  const lines = Buffer.from(told.subarray(0, Math.max(0, end)))
    .toString()
    .split('\n');
  const rows = lines.filter((line) => line !== '').join(',');
  const more = end < told.length ? ',"moreRows":true' : '';
  return `${dataJson.slice(0, -1)},"rows":[${rows}]${more}}`;
}

/** Throws CONFLICT if the lease is over. */
export async function endTick(catalog: Catalog, accountId: string, request: EndTickRequest): Promise<void> {
  const { store } = catalog;
  if (
    (request.snapshot?.rows.length ?? 0) > comparedRowsMax * rowDigestBytes ||
    request.toldNdjson.length > toldBytesMax
  )
    throw new HubError('TOO_LARGE', 'The rows of a run are more than a watch can keep.');
  const {
    watchId,
    lease: token,
    snapshot,
    toldNdjson,
    ...found
  } = await withRoom(catalog, accountId, await asAllowed(catalog, accountId, request));
  const written = await untilWritten(async () => {
    const state = await store.watchStates.get(accountId, watchId);
    if (state?.lastLease === token) return undefined;
    requireLease(state, token);
    const { lease } = state;
    const watch = await store.watches.get(accountId, watchId);
    if (watch === null) throw new HubError('CONFLICT', 'The watch was deleted.');
    const isAnew =
      found.changes !== undefined && !(await isComparedWithSame(catalog, state, { watch, found }));
    // Columns that were taken out of `include` meanwhile must not leave the hub.
    const mayTell = lease.include?.every((column) => watch.include.includes(column)) !== false;
    const told = isAnew || !mayTell ? Buffer.alloc(0) : toldNdjson;
    const kept = await keepRows(catalog, { accountId, watchId, lease }, { snapshot, toldNdjson: told });
    const compared = isAnew ? { ...found, changes: undefined } : found;
    const isWritten = await endLease(catalog, state, { watch, lease, found: compared, kept });
    return isWritten ? { ...kept, runId: lease.runId, runs: state.runs } : overtaken;
  });
  if (written !== undefined && written.runs % trimmedEvery === 0) await trimRuns(catalog, accountId, watchId);
  if (written === undefined || snapshot === undefined) return;
  // Ids of runs sort by time, and that of the snapshot begins with this.
  const beforeId = `${watchId}/${written.runId}`;
  await store.watchSnapshots.deleteMany({ accountId, idPrefix: `${watchId}/`, beforeId, limit: 100 });
}

/** A run whose rows find no room beside those of the account's other watches fails. */
async function withRoom(
  { store }: Catalog,
  accountId: string,
  request: EndTickRequest,
): Promise<EndTickRequest> {
  const { watchId, snapshot } = request;
  const isKept =
    snapshot === undefined ||
    (await hasRoom(store.watchSnapshots, {
      ...{ accountId, ownPrefix: `${watchId}/` },
      bytes: snapshot.rows.length + snapshot.ndjson.length,
    }));
  if (isKept) return request;
  return {
    ...request,
    ...{ outcome: 'failed', code: 'RESULT_TOO_LARGE', isMet: false },
    detail:
      'The rows that the watches of this account keep for their next runs would take more than 256 MiB. Include fewer columns, or watch fewer rows.',
    ...{ changes: undefined, snapshot: undefined, toldNdjson: Buffer.alloc(0) },
  };
}

/** False if the query was published while the run went on, so that it executed another one than the run before. */
async function isComparedWithSame(
  { store }: Catalog,
  { snapshot }: WatchStateDoc,
  { watch, found }: { watch: WatchDoc; found: Found },
): Promise<boolean> {
  const query = await store.queries.get(watch.accountId, watch.queryId);
  const numbers = { before: snapshot?.queryVersion, now: found.queryVersion };
  return query !== null && areComparable(store, query, numbers);
}

/** Deletes the oldest runs beyond those that are kept. */
async function trimRuns({ store }: Catalog, accountId: string, watchId: string): Promise<void> {
  const where = { watchId };
  const [first] = await store.watchRuns.find({
    accountId,
    where,
    descending: true,
    offset: runsKept,
    limit: 1,
  });
  if (first === undefined) return;
  const filter = { accountId, where, beforeId: first.id, limit: trimmedEvery };
  while ((await store.watchRuns.deleteMany(filter)) === trimmedEvery);
}

interface Place {
  accountId: string;
  watchId: string;
  lease: TickLease;
}

async function keepRows(
  { store, nowMs }: Catalog,
  { accountId, watchId, lease }: Place,
  { snapshot, toldNdjson }: Pick<EndTickRequest, 'snapshot' | 'toldNdjson'>,
): Promise<NonNullable<Ended['kept']>> {
  const kept: NonNullable<Ended['kept']> = {};
  if (snapshot !== undefined) {
    const id = `${watchId}/${lease.runId}/${lease.token}`;
    const { rows, ndjson, digest } = snapshot;
    const size = rows.length + ndjson.length;
    await insertOnce(store.watchSnapshots, { id, accountId, version: 1, rows, ndjson, size });
    kept.snapshot = { id, digest };
  }
  if (toldNdjson.length > 0) {
    kept.rowsId = `${lease.runId}/${lease.token}`;
    kept.told = toldNdjson;
    const expiresAt = nowMs() + rowsKeptMs;
    const rows = {
      id: kept.rowsId,
      accountId,
      version: 1,
      ndjson: toldNdjson,
      size: toldNdjson.length,
      expiresAt,
    };
    await insertOnce(store.watchRunRows, rows);
    await trimNowAndThen(store.watchRunRows, accountId, [rows]);
  }
  return kept;
}
