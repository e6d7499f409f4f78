import { createQuota } from '@datahub/document-store/quota';
import {
  BeginOperationRequest_Settling as Settling,
  BeginOperationResponse_State as State,
} from '@datahub/proto/catalog/v1/catalog';
import { createCallContext } from '@datahub/service-kit/call/call';
import { createIdFactory } from '@datahub/service-kit/id';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import type { QueryDoc } from '../../src/documents.ts';
import { createHubCalls } from '../../src/rpc/hubs.ts';
import { createOperationCalls, noteCommit } from '../../src/rpc/operations.ts';
import { type CatalogStore, openCatalogStore } from '../../src/store.ts';
import { createStoredBytes, recordBytes } from '../../src/stored-bytes.ts';

const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
const bytesMax = 65_536;

describe('a record of an operation', () => {
  let store: CatalogStore;
  let catalog: Catalog;
  let nowMs: number;
  beforeEach(async () => {
    store = await openCatalogStore('sqlite::memory:');
    nowMs = 1_700_000_000_000;
    catalog = {
      store,
      namespace: 'dh',
      nowMs: () => nowMs,
      createId: createIdFactory({ namespace: 'dh' }),
      storedBytes: createStoredBytes(store.operations, bytesMax),
      quota: createQuota(0),
    } as Partial<Catalog> as Catalog;
  });
  afterEach(() => store.close());

  const ctx = (operation?: string, accountId = 'a') => ({
    ...createCallContext({ timeoutMs: 60_000, principal: { ...principal, accountId } }),
    operation,
  });
  const asked = {
    idempotencyKey: 'i',
    operation: 'POST /v1/hubs k',
    bodyMac: Buffer.from('mac'),
    settling: Settling.SETTLING_AUDIT as Settling,
    queryId: '',
    longestMs: 60_000,
    attempt: '',
  };
  const calls = () => createOperationCalls(catalog);
  const begin = (more: Partial<typeof asked> = {}, accountId = 'a') =>
    calls().beginOperation({ ...asked, ...more }, ctx(undefined, accountId));
  const ended = { status: 503, contentType: '', body: Buffer.alloc(0), kept: false, note: '', etag: '' };
  const unnamed = { attempt: '', idempotencyKey: '', operation: '' };
  const finish = (recordId: string, more: object = {}) =>
    calls().finishOperation(
      { recordId, unknown: false, notedQueryId: '', isTransaction: false, ...ended, ...unnamed, ...more },
      ctx(),
    );

  it('whose outcome is unknown answers a repeat with what was made, if it was made', async () => {
    const { recordId, operation } = await begin();
    const { hub } = await createHubCalls(catalog).createHub({ label: 'h' }, ctx(operation));
    await finish(recordId, { unknown: true });
    const again = await begin();
    expect(again).toMatchObject({ state: State.STATE_DONE, kept: false });
    expect(again.note).toBe(`It was carried out (hub.create of ${hub?.hubId}). Its response was not stored.`);
  });

  it('keeps its response though a repeat came between the change and its end', async () => {
    const { recordId, operation } = await begin();
    const { hub } = await createHubCalls(catalog).createHub({ label: 'h' }, ctx(operation));
    const between = await begin();
    expect(between).toMatchObject({ state: State.STATE_DONE, kept: false });
    expect(between.note).toBe(
      `It was carried out (hub.create of ${hub?.hubId}). Its response is not stored yet.`,
    );
    const body = Buffer.from('{}');
    await finish(recordId, { status: 200, kept: true, body });
    expect(await begin()).toMatchObject({ state: State.STATE_DONE, kept: true, status: 200, body });
  });

  it('is not carried out again for the key that replaced that of its first request', async () => {
    const { recordId } = await begin();
    await finish(recordId, { status: 200, kept: true, body: Buffer.from('[1]') });
    const replacing = createCallContext({ timeoutMs: 60_000, principal: { ...principal, keyId: 'next' } });
    const again = await calls().beginOperation({ ...asked, bodyMac: Buffer.from('other mac') }, replacing);
    expect(again).toMatchObject({ state: State.STATE_DONE, kept: false });
    expect(again.note).toContain('with the API key that yours replaced');
    const otherBody = await begin({ bodyMac: Buffer.from('other mac') });
    expect(otherBody.state).toBe(State.STATE_OTHER_BODY);
  });

  it('is not repeated to a caller whose rights were changed since', async () => {
    const { recordId } = await begin();
    await finish(recordId, { status: 200, kept: true, body: Buffer.from('[1]') });
    const as = (change: object) =>
      calls().beginOperation(
        asked,
        createCallContext({ timeoutMs: 60_000, principal: { ...principal, ...change } }),
      );
    expect(await as({})).toMatchObject({ state: State.STATE_DONE, kept: true });
    const limits = { hubIds: ['h'], queryIds: [], queries: [], origins: [], contextJson: '' };
    const person = { id: 'p', grants: [{ scopes: ['hubs:read'], limits }] };
    const named = { ...limits, hubIds: [], queries: ['shop/orders'] };
    for (const change of [{ scopes: ['hubs:read'] }, { limits }, { limits: named }, { person }]) {
      const { state, kept, body, note } = await as(change);
      expect([state, kept, body.length, note]).toEqual([
        State.STATE_DONE,
        false,
        0,
        expect.stringContaining('What you may do was changed since'),
      ]);
    }
  });

  it('does the same if its end was not written at all', async () => {
    const { operation } = await begin();
    expect(await begin()).toMatchObject({ state: State.STATE_IN_FLIGHT });
    await createHubCalls(catalog).createHub({ label: 'h' }, ctx(operation));
    expect(await begin()).toMatchObject({ state: State.STATE_DONE });
  });

  it('runs again once if nothing was made, and the first call then finds what was made', async () => {
    const first = await begin();
    await finish(first.recordId, { unknown: true });
    const again = await begin();
    expect(again).toMatchObject({ state: State.STATE_NEW, operation: first.operation });
    expect(await begin()).toMatchObject({ state: State.STATE_IN_FLIGHT });
    const { createHub } = createHubCalls(catalog);
    const made = await createHub({ label: 'again' }, ctx(again.operation));
    expect(await createHub({ label: 'late' }, ctx(first.operation))).toEqual(made);
    expect(await store.hubs.count({ accountId: 'a' })).toBe(1);
    expect(await store.audit.count({ accountId: 'a' })).toBe(1);
  });

  it('stays for a repeat that made nothing, because the first one may still make something', async () => {
    const first = await begin();
    await finish(first.recordId, { unknown: true });
    nowMs += 1;
    await begin();
    await finish(first.recordId, { status: 0 });
    expect(await begin()).toMatchObject({ state: State.STATE_NEW, operation: first.operation });
  });

  it('is ended only by the request that began it, which can name it without its id', async () => {
    await begin({ attempt: 'first' });
    const { idempotencyKey, operation } = asked;
    const named = { status: 0, idempotencyKey, operation };
    await finish('', { ...named, attempt: 'other' });
    expect(await begin({ attempt: 'second' })).toMatchObject({ state: State.STATE_IN_FLIGHT });
    await finish('', { ...named, attempt: 'first' });
    expect(await begin({ attempt: 'second' })).toMatchObject({ state: State.STATE_NEW });
  });

  it('that was left by a process that died is found out about after five minutes', async () => {
    const first = await begin();
    nowMs += 299_000;
    expect(await begin()).toMatchObject({ state: State.STATE_IN_FLIGHT });
    nowMs += 2_000;
    const nothing = { settling: Settling.SETTLING_UNSPECIFIED as Settling };
    expect(await begin(nothing)).toMatchObject({ state: State.STATE_UNKNOWN });
    expect(await begin()).toMatchObject({ state: State.STATE_NEW, operation: first.operation });
    expect(await begin({ bodyMac: Buffer.from('x') })).toMatchObject({ state: State.STATE_OTHER_BODY });
  });

  describe('with a transaction', () => {
    const settling = Settling.SETTLING_UNSPECIFIED as Settling;
    const commit = { sourceId: 's', server: '1/1', transactionId: '7' };
    const body = Buffer.from('{"data":[]}');
    const note = (recordId: string, attempt: string, more: object = {}) =>
      noteCommit(
        catalog,
        { recordId, attempt, commit, contentType: 'application/json', body, ...more },
        ctx(),
      );
    const noted = { notedQueryId: 'q' };
    const storeQuery = (more: object = {}) => {
      const query = { id: 'q', accountId: 'a', version: 1, hubId: 'h', parentNodeId: 'p', sourceId: 's' };
      return store.queries.insert({ ...query, engine: 'postgres', command: 'UPDATE', ...more } as QueryDoc);
    };
    const repeat = (more: object = {}) => begin({ settling, attempt: 'second', ...more });

    it('asks how it ended, and answers what was noted if it has committed', async () => {
      const { recordId } = await begin({ settling, attempt: 'first' });
      await note(recordId, 'first');
      expect(await repeat()).toMatchObject({ state: State.STATE_COMMITTING, commit, isLeft: false });
      await finish(recordId, { attempt: 'first', unknown: true, ...noted });
      expect(await repeat()).toMatchObject({ state: State.STATE_COMMITTING, commit, isLeft: true });
      const other = { commit: { ...commit, transactionId: '8' }, committed: true };
      expect(await repeat({ end: other })).toMatchObject({ state: State.STATE_COMMITTING });
      const answer = {
        state: State.STATE_DONE,
        kept: true,
        status: 200,
        contentType: 'application/json',
        body,
      };
      expect(await repeat({ end: { commit, committed: true } })).toMatchObject(answer);
      expect(await repeat()).toMatchObject(answer);
    });

    it('says that it was carried out if its answer was too large', async () => {
      const { recordId } = await begin({ settling, attempt: 'first' });
      await note(recordId, 'first', { body: undefined });
      const done = await repeat({ end: { commit, committed: true } });
      expect(done).toMatchObject({
        state: State.STATE_DONE,
        kept: false,
        note: expect.stringMatching(/carried out/),
      });
    });

    it('begins again if it was rolled back, and the first start may then commit nothing', async () => {
      const { recordId } = await begin({ settling, attempt: 'first' });
      await note(recordId, 'first');
      expect(await repeat({ end: { commit, committed: false } })).toMatchObject({ state: State.STATE_NEW });
      await expect(note(recordId, 'first')).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
      await finish(recordId, { attempt: 'first', unknown: true });
      await note(recordId, 'second', { commit: { ...commit, transactionId: '9' } });
      expect(await repeat()).toMatchObject({ commit: { transactionId: '9' }, isLeft: false });
    });

    it('frees the key if an executor that notes each COMMIT died before it noted one', async () => {
      await storeQuery();
      const { recordId } = await begin({ settling, attempt: 'first' });
      await finish(recordId, { attempt: 'first', unknown: true, ...noted });
      await expect(note(recordId, 'first')).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
      expect(await repeat()).toMatchObject({ state: State.STATE_NEW });
    });

    it.each([
      ['another engine', { engine: 'mysql' }, {}],
      ['a query that was changed while it ran', { updatedAt: Number.MAX_SAFE_INTEGER }, {}],
      ['a statement that may run without a transaction', { command: 'CALL' }, {}],
      ['an executor that notes nothing', {}, { notedQueryId: '' }],
    ])('stays unknown without a note, for %s', async (_, query, more) => {
      await storeQuery(query);
      const { recordId } = await begin({ settling, attempt: 'first' });
      await finish(recordId, { attempt: 'first', unknown: true, ...noted, ...more });
      expect(await repeat()).toMatchObject({ state: State.STATE_UNKNOWN });
    });

    it('stays unknown at a server that cannot be asked', async () => {
      await storeQuery();
      const { recordId } = await begin({ settling, attempt: 'first' });
      await note(recordId, 'first', { commit: { ...commit, server: '', transactionId: '' } });
      expect(await repeat()).toMatchObject({ state: State.STATE_IN_FLIGHT });
      await finish(recordId, { attempt: 'first', unknown: true, ...noted });
      expect(await repeat()).toMatchObject({ state: State.STATE_UNKNOWN });
    });

    it('is of no other account', async () => {
      const { recordId } = await begin({ settling, attempt: 'first' });
      const request = { recordId, attempt: 'first', commit, contentType: '', body };
      await expect(noteCommit(catalog, request, ctx(undefined, 'b'))).rejects.toMatchObject({
        code: 'IDEMPOTENCY_CONFLICT',
      });
    });
  });

  it('is in progress for as long as the gateway that began it lets it run', async () => {
    const settlings = [Settling.SETTLING_UNSPECIFIED, Settling.SETTLING_REPEAT];
    const longest = 3_600_000;
    for (const settling of settlings) {
      // 0: an older gateway does not say it.
      for (const longestMs of [longest, 0]) {
        const key = { idempotencyKey: `${settling} ${longestMs}`, settling };
        await begin({ ...key, longestMs });
        nowMs += 301_000;
        expect(await begin({ ...key, longestMs: 60_000 })).toMatchObject({ state: State.STATE_IN_FLIGHT });
        nowMs += longest;
        const left = settling === Settling.SETTLING_REPEAT ? State.STATE_NEW : State.STATE_UNKNOWN;
        expect(await begin({ ...key, longestMs })).toMatchObject({ state: left });
      }
    }
  });

  it('is not made of a query that reads', async () => {
    const query = { accountId: 'a', version: 1, hubId: 'h', parentNodeId: 'p', sourceId: 's' };
    await store.queries.insert({ ...query, id: 'read', command: 'SELECT' } as QueryDoc);
    await store.queries.insert({ ...query, id: 'write', command: 'INSERT' } as QueryDoc);
    expect(await begin({ queryId: 'read' })).toMatchObject({ state: State.STATE_UNRECORDED, recordId: '' });
    expect(await begin({ queryId: 'gone' })).toMatchObject({ state: State.STATE_UNRECORDED });
    expect(await store.operations.count({ accountId: 'a' })).toBe(0);
    const { recordId } = await begin({ queryId: 'write' });
    await finish(recordId, { status: 200, body: Buffer.from('{}'), kept: true });
    await store.queries.replace({ ...query, id: 'write', version: 2, command: 'SELECT' } as QueryDoc);
    // Its record was made when it wrote.
    expect(await begin({ queryId: 'write' })).toMatchObject({ state: State.STATE_DONE, kept: true });
  });

  it('and its answer count against the account, which is refused more than its share for a day', async () => {
    const body = Buffer.alloc(20_400, 'x');
    const answer = { status: 200, contentType: 'application/json', body, kept: true };
    for (const n of [1, 2, 3]) {
      const { recordId } = await begin({ idempotencyKey: `kept ${n}` });
      await finish(recordId, answer);
    }
    const { recordId } = await begin({ idempotencyKey: 'no room' });
    await finish(recordId, answer);
    expect(await begin({ idempotencyKey: 'kept 3' })).toMatchObject({ state: State.STATE_DONE, kept: true });
    expect(await begin({ idempotencyKey: 'no room' })).toMatchObject({
      state: State.STATE_DONE,
      kept: false,
      note: 'It was carried out. The account has no room left to store its response.',
    });
    const refused = {
      code: 'RATE_LIMITED',
      message: expect.stringContaining(`all of the ${bytesMax} bytes`),
    };
    await expect(begin({ idempotencyKey: 'more' })).rejects.toMatchObject(refused);
    // Counted in the store, not in the process.
    const countAgain = () => createStoredBytes(store.operations, bytesMax);
    catalog.storedBytes = countAgain();
    await expect(begin({ idempotencyKey: 'more' })).rejects.toMatchObject(refused);
    expect(await begin({ idempotencyKey: 'more' }, 'b')).toMatchObject({ state: State.STATE_NEW });
    expect(3 * (recordBytes + body.length) + recordBytes).toBeLessThan(bytesMax);
    nowMs += 86_400_000;
    await store.operations.sweepExpired(nowMs, 1_000);
    catalog.storedBytes = countAgain();
    expect(await begin({ idempotencyKey: 'more' })).toMatchObject({ state: State.STATE_NEW });
  });
});
