/** Records of operations that must happen at most once, for `Idempotency-Key`. */

import { createHash } from 'node:crypto';
import { isReadingCommand, ranAsItIs } from '@datahub/contract/commands';
import { transactionCommand } from '@datahub/contract/transactions';
import { insertIfNew } from '@datahub/document-store';
import {
  type BeginOperationRequest,
  type BeginOperationResponse,
  type CatalogServiceService,
  type FinishOperationRequest,
  BeginOperationRequest_Settling as Settling,
  BeginOperationResponse_State as State,
} from '@datahub/proto/catalog/v1/catalog';
import type { NoteCommitRequest, NoteCommitResponse } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type CallContext, type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../catalog.ts';
import type { AuditDoc, CommitDoc, OperationDoc } from '../documents.ts';
import { keyLimits } from '../key-limits.ts';
import { recordBytes } from '../stored-bytes.ts';
import { entryIdOf } from './audit.ts';
import { reachedQueries } from './query-names/reach.ts';
import { fromLimits } from './to-proto.ts';

type OperationCalls = Pick<Calls<typeof CatalogServiceService>, 'beginOperation' | 'finishOperation'>;

const keptMs = 24 * 3_600_000;
/** The longest request that the settings of a gateway allow. */
const requestMsMax = 3_600_000;
/** For the end of an operation whose time is up: to cancel it, and to write its outcome. */
const endingMs = 240_000;

const nothing = {
  recordId: '',
  status: 0,
  contentType: '',
  body: Buffer.alloc(0),
  kept: false,
  note: '',
  etag: '',
  operation: '',
  isLeft: false,
};

export function createOperationCalls(catalog: Catalog): OperationCalls {
  const { operations } = catalog.store;
  return {
    beginOperation: async (request, ctx): Promise<BeginOperationResponse> => {
      const principal = requirePrincipal(ctx);
      const { accountId } = principal;
      const rights = await rightsOf(catalog, principal, request.queryId);
      const doc = newRecord(catalog, { principal, rights }, request);
      const found = await operations.get(accountId, doc.id);
      const isKnown = found?.bodyMac === doc.bodyMac && found.expiresAt > doc.createdAt;
      // The query may have become a read after its record was made.
      if (!isKnown && (await isReadOnly(catalog, accountId, request.queryId)))
        return { ...nothing, state: State.STATE_UNRECORDED };
      if (found !== null) return repeat(catalog, { request, doc, found });
      await catalog.storedBytes.requireRoom(accountId);
      if (await insertIfNew(operations, doc)) return begun(doc);
      // Another call inserted the record at the same time.
      const other = await operations.get(accountId, doc.id);
      if (other === null)
        throw new HubError('UNAVAILABLE', 'The operation ended just now. Try again.', { retryable: true });
      return repeat(catalog, { request, doc, found: other });
    },

    finishOperation: async (request, ctx) => finish(catalog, request, ctx),
  };
}

/**
 * Operations that only read are not recorded. Neither are executions of unknown queries, because they will be refused.
 */
async function isReadOnly({ store }: Catalog, accountId: string, queryId: string): Promise<boolean> {
  if (queryId === '') return false;
  const query = await store.queries.get(accountId, queryId);
  return query === null || isReadingCommand(query.command);
}

function newRecord(
  catalog: Catalog,
  { principal, rights }: { principal: Principal; rights: string },
  request: BeginOperationRequest,
): OperationDoc {
  const nowMs = catalog.nowMs();
  const { accountId } = principal;
  return {
    id: digestOf(accountId, request.operation, request.idempotencyKey),
    accountId,
    version: 1,
    bodyMac: Buffer.from(request.bodyMac).toString('hex'),
    keyId: principal.keyId,
    rights,
    open: 1,
    status: 0,
    contentType: '',
    kept: false,
    note: '',
    size: recordBytes,
    createdAt: nowMs,
    begunAt: nowMs,
    longestMs: request.longestMs || requestMsMax,
    attempt: request.attempt,
    expiresAt: nowMs + keptMs,
  };
}

function digestOf(...parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

/** A digest of what the caller may do: all limits besides those of how often and from which pages. */
async function rightsOf(catalog: Catalog, principal: Principal, queryId: string): Promise<string> {
  const { scopes, limits, person } = principal;
  const grants = person?.grants ?? [{ scopes, limits }];
  const parts = grants.map(({ scopes, limits }) => {
    const { ratePerMinute: _, origins: __, ...rights } = fromLimits(limits);
    return JSON.stringify([scopes, rights]);
  });
  return digestOf(...parts, ...(await named(catalog, principal, queryId)));
}

/** What the names of queries in the limits of a key stand for now: for the query of an execution, else for all of them. */
async function named(catalog: Catalog, { accountId, limits }: Principal, queryId: string): Promise<string[]> {
  if (!keyLimits.queries.isSet(limits)) return [];
  if (queryId === '') return (await reachedQueries(catalog, { accountId, limits })) ?? [];
  const { store } = catalog;
  const query = await store.queries.get(accountId, queryId);
  const hub = query && (await store.hubs.get(accountId, query.hubId));
  const isOwn = query !== null && hub !== null && keyLimits.queries.isAllowed(limits, { hub, query });
  return isOwn ? [queryId] : [];
}

const operationOf = ({ createdAt, id }: OperationDoc): string => `${createdAt}:${id}`;

const begun = (doc: OperationDoc): BeginOperationResponse => ({
  ...nothing,
  state: State.STATE_NEW,
  recordId: doc.id,
  operation: operationOf(doc),
});

interface Repeat {
  request: BeginOperationRequest;
  /** The record as a new operation would create it. */
  doc: OperationDoc;
  found: OperationDoc;
}

async function repeat(catalog: Catalog, { request, doc, found }: Repeat): Promise<BeginOperationResponse> {
  const nowMs = doc.createdAt;
  // The new record replaces an expired one.
  if (found.expiresAt <= nowMs) return takeOver(catalog, found, doc);
  if (found.bodyMac !== doc.bodyMac) {
    const isOfOther = found.keyId !== undefined && found.keyId !== doc.keyId;
    return isOfOther ? ofOtherKey : { ...nothing, state: State.STATE_OTHER_BODY };
  }
  return found.open === 1 ? settle(catalog, { request, doc, found }) : done(found, doc);
}

/** The bodies of two keys of one rotation cannot be compared. */
const ofOtherKey: BeginOperationResponse = {
  ...nothing,
  state: State.STATE_DONE,
  note: 'The first request with this Idempotency-Key was sent with the API key that yours replaced, or by which it was replaced. Repeat it with that key, or look at what it has changed.',
};

/** What the caller could do at first is not repeated to a caller who may no longer do it. */
function done(found: OperationDoc, { rights }: OperationDoc): BeginOperationResponse {
  const ended = { ...nothing, state: State.STATE_DONE, recordId: found.id, status: found.status };
  if (found.kept && found.rights !== undefined && found.rights !== rights) {
    const note =
      'The request was carried out. What you may do was changed since, so its answer is not repeated.';
    return { ...ended, note };
  }
  const { contentType, kept, note, etag = '' } = found;
  return { ...ended, contentType, body: Buffer.from(found.answer ?? []), kept, note, etag };
}

/** Determines whether an operation without a recorded outcome was carried out. */
async function settle(catalog: Catalog, { request, doc, found }: Repeat): Promise<BeginOperationResponse> {
  const { settling } = request;
  const isLeft = found.unknown === 1 || isOver(found, doc.begunAt);
  if (found.commit !== undefined) return settleCommit(catalog, { request, doc, found }, isLeft);
  const entry = settling === Settling.SETTLING_AUDIT ? await findEntry(catalog, found, isLeft) : null;
  if (entry !== null) {
    const carriedOut = `It was carried out (${entry.action} of ${entry.resourceId}).`;
    // The process that made the change may still be about to store its response.
    if (!isLeft)
      return { ...nothing, state: State.STATE_DONE, note: `${carriedOut} Its response is not stored yet.` };
    const note = `${carriedOut} Its response was not stored.`;
    await catalog.store.operations.replace({ ...found, version: found.version + 1, open: 0, note });
    return { ...nothing, state: State.STATE_DONE, note };
  }
  if (!isLeft) return { ...nothing, state: State.STATE_IN_FLIGHT };
  if (settling === Settling.SETTLING_UNSPECIFIED) return { ...nothing, state: State.STATE_UNKNOWN };
  const { begunAt, longestMs, attempt, rights } = doc as Required<OperationDoc>;
  return takeOver(catalog, found, { ...found, unknown: 0, begunAt, longestMs, attempt, rights });
}

/** Nothing is left of a transaction that was rolled back, and its start can note no other one once its place is taken. */
async function settleCommit(
  catalog: Catalog,
  { request, doc, found }: Repeat,
  isLeft: boolean,
): Promise<BeginOperationResponse> {
  const commit = found.commit as CommitDoc;
  if (commit.server === '')
    return { ...nothing, state: isLeft ? State.STATE_UNKNOWN : State.STATE_IN_FLIGHT };
  const end = endOf(commit, request);
  if (end === undefined) return toAsk(nothing, commit, isLeft);
  if (end === 'aborted') return takeOver(catalog, found, doc);
  const after = committed(found, commit);
  await catalog.store.operations.replace(after);
  return done(after, doc);
}

/** True if a record that is still open belongs to a process that died. */
function isOver({ begunAt, createdAt, longestMs = requestMsMax }: OperationDoc, nowMs: number): boolean {
  return nowMs - (begunAt ?? createdAt) > longestMs + endingMs;
}

/** The audit entry of the operation, which the store wrote in one step with its change. */
async function findEntry(
  catalog: Catalog,
  found: OperationDoc,
  everywhere: boolean,
): Promise<AuditDoc | null> {
  const id = entryIdOf(catalog, operationOf(found));
  if (id === undefined) return null;
  const { audit, settle: bringAll } = catalog.store;
  const entry = await audit.get(found.accountId, id);
  if (entry !== null || !everywhere) return entry;
  // The entry may still be in the outbox of the changed document.
  await bringAll();
  return audit.get(found.accountId, id);
}

/** Begins the operation again. Of two concurrent callers, only one succeeds. */
async function takeOver(
  { store }: Catalog,
  old: OperationDoc,
  doc: OperationDoc,
): Promise<BeginOperationResponse> {
  const taken = await store.operations.replace({ ...doc, version: old.version + 1 });
  return taken ? begun(doc) : { ...nothing, state: State.STATE_IN_FLIGHT };
}

type FinishRequest = Parameters<OperationCalls['finishOperation']>[0];

async function finish(catalog: Catalog, request: FinishRequest, ctx: CallContext): Promise<object> {
  const { operations } = catalog.store;
  const { accountId } = requirePrincipal(ctx);
  const { status, contentType, body, etag, attempt } = request;
  const id = request.recordId || digestOf(accountId, request.operation, request.idempotencyKey);
  const found = await operations.get(accountId, id);
  if (found === null || found.open === 0) return {};
  if (attempt !== '' && attempt !== found.attempt) return {};
  const version = found.version + 1;
  // Without a note, the executor has not committed, and this start can write none after its record is deleted.
  if (request.unknown && found.commit === undefined && (await isNoted(catalog, found, request))) {
    await operations.delete(accountId, id, { version: found.version });
    return {};
  }
  // An earlier start with an unknown outcome may still take effect, so a repeat must have the same operation.
  const isRepeat = found.begunAt > found.createdAt;
  if (request.unknown || (status === 0 && isRepeat)) {
    await operations.replace({ ...found, version, unknown: 1 });
    return {};
  }
  if (status === 0) {
    await operations.delete(accountId, id, { version: found.version });
    return {};
  }
  const kept = request.kept && catalog.storedBytes.reserve(accountId, body.length);
  const note =
    request.kept && !kept
      ? 'It was carried out. The account has no room left to store its response.'
      : request.note;
  const size = recordBytes + (kept ? body.length : 0);
  const ended = {
    ...withoutCommit(found),
    version,
    open: 0,
    unknown: 0,
    status,
    contentType,
    kept,
    note,
    size,
  };
  await operations.replace(kept ? { ...ended, answer: body, etag } : ended);
  return {};
}

/** Only the last start of an operation may commit, so a repeat that begins it again never runs beside an earlier start. */
export async function noteCommit(
  { store: { operations } }: Catalog,
  { recordId, attempt, commit, body, contentType }: NoteCommitRequest,
  ctx: CallContext,
): Promise<NoteCommitResponse> {
  const { accountId } = requirePrincipal(ctx);
  if (commit === undefined) throw new HubError('VALIDATION', 'A note names a transaction.');
  const found = await operations.get(accountId, recordId);
  if (found === null || found.open === 0 || found.attempt !== attempt) throw taken();
  const noted: OperationDoc = {
    ...withoutCommit(found),
    version: found.version + 1,
    size: recordBytes + (body?.length ?? 0),
    commit: { ...commit, contentType },
  };
  const isNoted = await operations.replace(body === undefined ? noted : { ...noted, answer: body });
  if (!isNoted) throw taken();
  return {};
}

const taken = () =>
  new HubError(
    'IDEMPOTENCY_CONFLICT',
    'Another request with this Idempotency-Key took the place of this one.',
  );

/** A record without an outcome, without its transaction. */
function withoutCommit({ commit: _, answer: __, ...rest }: OperationDoc): OperationDoc {
  return rest;
}

/** The record of an operation whose transaction has committed. */
function committed(found: OperationDoc, { contentType }: CommitDoc): OperationDoc {
  const { answer } = found;
  const done = { ...withoutCommit(found), version: found.version + 1, open: 0, unknown: 0, status: 200 };
  const note = 'The request was carried out. Its answer was lost, and was not stored.';
  return answer === undefined ? { ...done, kept: false, note } : { ...done, kept: true, answer, contentType };
}

/** Commands whose statements always run in a transaction. */
const inTransaction = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE', transactionCommand]);

/** True if the operation committed nothing that it did not note, and its query is the one that it ran. */
async function isNoted(
  { store }: Catalog,
  { accountId, begunAt }: OperationDoc,
  { notedQueryId, isTransaction }: FinishOperationRequest,
): Promise<boolean> {
  const query = notedQueryId === '' ? null : await store.queries.get(accountId, notedQueryId);
  if (query === null || !ranAsItIs(query.updatedAt, begunAt)) return false;
  return query.engine === 'postgres' && (isTransaction || inTransaction.has(query.command));
}

/** What the gateway must ask the source. */
const toAsk = (
  nothing: Omit<BeginOperationResponse, 'state'>,
  { sourceId, server, transactionId }: CommitDoc,
  isLeft: boolean,
): BeginOperationResponse => ({
  ...nothing,
  state: State.STATE_COMMITTING,
  commit: { sourceId, server, transactionId },
  isLeft,
});

/** Undefined if the caller does not know how this transaction ended. */
function endOf(commit: CommitDoc, { end }: BeginOperationRequest): 'committed' | 'aborted' | undefined {
  const { server, transactionId } = end?.commit ?? {};
  if (server !== commit.server || transactionId !== commit.transactionId) return undefined;
  return end?.committed ? 'committed' : 'aborted';
}
