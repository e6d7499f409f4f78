/** The audit log: which key did what to which document, without values. A change and its entry are one write. */

import type { AuditAction } from '@datahub/contract/audit-actions';
import { isConfined } from '@datahub/contract/withheld';
import type { CompanionWrite } from '@datahub/document-store';
import type { CatalogServiceService, RecordUseRequest_Use } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type CallContext, type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createFixedId, type IdKind, operationIdOf } from '@datahub/service-kit/id';
import {
  type Catalog,
  loadBoard,
  loadFolder,
  loadHub,
  loadQuery,
  loadSource,
  loadWatch,
} from '../catalog.ts';
import type { AuditDoc } from '../documents.ts';
import { listPage } from '../pagination.ts';
import { addUse, dayMs, hourlyUse } from '../usage/use-counts.ts';
import { loadReadableKey } from './key-access.ts';

type CatalogCalls = Calls<typeof CatalogServiceService>;

const usesMax = 10_000;
/** Concurrent writes. The store batches them, and this leaves connections for calls that clients wait for. */
const sideBySide = 8;
/** The time reserved at the end of a call for writes in progress and the answer. */
const reserveMs = 2_000;

/**
 * The audit action of each RPC. Null means that the RPC changes nothing, or only records of its own (uses, rates,
 * idempotency keys). An RPC without a line here does not compile.
 */
const actionOf = {
  createHub: 'hub.create',
  listHubs: null,
  getHub: null,
  updateHub: 'hub.update',
  deleteHub: 'hub.delete',
  getHubContents: null,
  createFolder: 'folder.create',
  updateFolder: 'folder.update',
  deleteFolder: 'folder.delete',
  createSource: 'source.create',
  listSources: null,
  getSource: null,
  updateSource: 'source.update',
  deleteSource: 'source.delete',
  createQuery: 'query.create',
  listQueries: null,
  getQuery: null,
  findQuery: null,
  listTools: null,
  updateQuery: 'query.update',
  deleteQuery: 'query.delete',
  listQueryVersions: null,
  restoreQuery: 'query.restore',
  nameQueries: null,
  getQueryUsage: null,
  listQueryRuns: null,
  createBoard: 'board.create',
  listBoards: null,
  getBoard: null,
  updateBoard: 'board.update',
  deleteBoard: 'board.delete',
  createWatch: 'watch.create',
  listWatches: null,
  getWatch: null,
  updateWatch: 'watch.update',
  deleteWatch: 'watch.delete',
  checkWatch: null,
  runWatch: 'watch.run',
  listWatchRuns: null,
  getWatchRun: null,
  getWatchRunRows: null,
  listEvents: null,
  createDestination: 'destination.create',
  listDestinations: null,
  getDestination: null,
  updateDestination: 'destination.update',
  deleteDestination: 'destination.delete',
  rotateDestinationSecret: 'destination.rotate',
  testDestination: 'destination.test',
  listDeliveries: null,
  redeliver: null,
  takeTicks: null,
  keepTick: null,
  endTick: null,
  readSnapshot: null,
  answerMail: null,
  tellJobEnded: null,
  authenticate: null,
  resolveKey: null,
  createKey: 'key.create',
  listKeys: null,
  updateKey: 'key.update',
  rotateKey: 'key.rotate',
  revokeKey: 'key.revoke',
  signIn: 'person.signIn',
  endSignIns: 'person.signOut',
  takeRefreshes: null,
  endRefresh: null,
  listPeople: null,
  getOwnPerson: null,
  updatePerson: 'person.update',
  deletePerson: 'person.delete',
  endSessions: 'person.signOut',
  createClient: 'client.create',
  registerClient: 'client.create',
  listClients: null,
  findClient: null,
  deleteClient: 'client.delete',
  createAgent: 'agent.connect',
  issueTokens: 'agent.refuse',
  revokeToken: 'agent.disconnect',
  listAgents: null,
  deleteAgent: 'agent.disconnect',
  createGrant: 'grant.create',
  listGrants: null,
  deleteGrant: 'grant.delete',
  getKeyUsage: null,
  listAudit: null,
  recordUse: null,
  takeRequests: null,
  beginOperation: null,
  finishOperation: null,
} as const satisfies Record<keyof CatalogCalls, AuditAction | null>;

type AuditedRpc = {
  [R in keyof typeof actionOf]: (typeof actionOf)[R] extends null ? never : R;
}[keyof CatalogCalls];

/** What a change does beside its own action. */
const effects = { gainQuery: 'key.gainQuery', loseQuery: 'key.loseQuery' } as const satisfies Record<
  string,
  AuditAction
>;

interface Entry {
  rpc: AuditedRpc | keyof typeof effects;
  resourceId: string;
}

/** The entry of what a person does without a key: signing in and out. */
export function personEntry(
  catalog: Catalog,
  ctx: CallContext,
  { rpc, accountId, personId }: { rpc: 'signIn' | 'endSignIns'; accountId: string; personId: string },
): CompanionWrite {
  const person = { id: personId, grants: [] };
  const principal = { accountId, keyId: personId, scopes: [], limits: undefined, person };
  return auditEntry(catalog, { ...ctx, operation: undefined, principal }, { rpc, resourceId: personId });
}

/** Returns the entry of a change. The store writes both in one step, so it never has one without the other. */
export function auditEntry(catalog: Catalog, ctx: CallContext, { rpc, resourceId }: Entry): CompanionWrite {
  const { accountId, keyId, person } = requirePrincipal(ctx);
  const at = catalog.nowMs();
  const doc: AuditDoc = {
    id: entryIdOf(catalog, ctx.operation) ?? catalog.createId('evt', at),
    accountId,
    version: 1,
    at,
    keyId,
    ...personMember(person),
    requestId: ctx.requestId,
    count: 1,
    failed: 0,
    action: rpc in effects ? effects[rpc as keyof typeof effects] : actionOf[rpc as AuditedRpc],
    resourceId,
  };
  return { collection: 'audit', doc };
}

const personMember = (person: Principal['person']) => (person === undefined ? {} : { personId: person.id });

/** The names of the people in the entries, by their ids. */
async function namesOfPeople(
  { store }: Catalog,
  entries: readonly AuditDoc[],
): Promise<Map<string | undefined, string>> {
  const accounts = new Map(entries.map(({ personId, accountId }) => [personId, accountId]));
  accounts.delete(undefined);
  const people = await Promise.all(
    [...accounts].map(([id = '', accountId]) => store.people.get(accountId, id)),
  );
  return new Map(people.flatMap((person) => (person === null ? [] : [[person.id, person.name]])));
}

/** Returns the entry of a change that undoes another change of the same call. */
export const undoEntry = (catalog: Catalog, ctx: CallContext, entry: Entry): CompanionWrite =>
  auditEntry(catalog, { ...ctx, operation: undefined }, entry);

/**
 * The id of the one entry of an operation with an idempotency key. If the entry exists, the operation was carried out.
 */
export const entryIdOf = ({ namespace }: Pick<Catalog, 'namespace'>, operation: string | undefined) =>
  operationIdOf({ namespace, kind: 'evt' }, operation);

/** The bounds of the ids of a day, because ids sort by time. */
function idsOfDay({ namespace }: Catalog, day: string): { afterId: string; beforeId: string } {
  const startMs = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(day) : Number.NaN;
  if (Number.isNaN(startMs)) throw new HubError('VALIDATION', 'The day must be a date such as 2026-01-31.');
  const idAt = (atMs: number) =>
    createFixedId({ namespace, kind: 'evt', atMs: Math.max(atMs, 0) }, Buffer.alloc(10));
  return { afterId: idAt(startMs), beforeId: idAt(startMs + dayMs) };
}

export function createAuditCalls(catalog: Catalog) {
  const { audit } = catalog.store;
  return {
    listAudit: async ({ page, resourceId, keyId, action, personId, day }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      await requireReadableAudit(catalog, ctx, resourceId);
      const asked = Object.entries({ resourceId, keyId, action, personId }).filter(
        ([, value]) => value !== undefined,
      );
      const where = Object.fromEntries(asked) as Record<string, string>;
      const ofDay = day === undefined ? {} : idsOfDay(catalog, day);
      const { docs, total } = await listPage(audit, { accountId, where, ...ofDay, descending: true }, page);
      const names = await namesOfPeople(catalog, docs);
      return {
        entries: docs.map(({ id, at, users: _, counted, joinsAt, hours, ...entry }) => ({
          ...entry,
          entryId: id,
          at: new Date(at),
          personName: names.get(entry.personId),
        })),
        total,
      };
    },

    recordUse: async ({ uses, ageMs = 0 }, ctx) => {
      const { accountId, keyId, person } = requirePrincipal(ctx);
      if (uses.length > usesMax)
        throw new HubError('TOO_LARGE', `A call can record at most ${usesMax} uses.`);
      const stopAt = ctx.deadlineAt - reserveMs;
      const left: number[] = [];
      let failure: unknown;
      const atMs = catalog.nowMs() - Math.min(ageMs, dayMs);
      /** Resolves to false if the use was not recorded. */
      const isCounted = async ({ action, resourceId, count, failed, users }: RecordUseRequest_Use) => {
        if (ctx.signal.aborted || performance.now() >= stopAt) return false;
        const by = { keyId, ...personMember(person) };
        const use = { accountId, ...by, action, resourceId, requestId: '', count, failed, users };
        try {
          await addUse(catalog, hourlyUse(catalog, use, atMs));
          return true;
        } catch (err) {
          failure = err;
          return false;
        }
      };
      const waiting = uses.entries();
      const worker = async () => {
        for (const [place, use] of waiting) if (!(await isCounted(use))) left.push(place);
      };
      await Promise.all(Array.from({ length: sideBySide }, worker));
      if (failure !== undefined && left.length === uses.length) throw failure;
      return { left };
    },
  } satisfies Partial<CatalogCalls>;
}

/**
 * Throws SCOPE_DENIED for a key that is limited to hubs or queries, unless it asks for a resource that it may use: entries
 * do not say to which hub they belong.
 */
async function requireReadableAudit(
  catalog: Catalog,
  ctx: CallContext,
  resourceId: string | undefined,
): Promise<void> {
  const principal = requirePrincipal(ctx);
  if (!isConfined(principal.limits ?? {})) return;
  const loads: Partial<Record<IdKind, () => Promise<unknown>>> =
    resourceId === undefined
      ? {}
      : {
          hub: () => loadHub(catalog, principal, resourceId),
          hrt: () => loadFolder(catalog, principal, resourceId),
          src: () => loadSource(catalog, principal, resourceId),
          q: () => loadQuery(catalog, principal, resourceId),
          brd: () => loadBoard(catalog, principal, resourceId),
          wtch: () => loadWatch(catalog, principal, resourceId),
          key: () => loadReadableKey(catalog, ctx, resourceId),
        };
  const kind = resourceId?.split('.').at(-2) as IdKind | undefined;
  const load = kind && loads[kind];
  if (load === undefined)
    throw new HubError(
      'SCOPE_DENIED',
      'A key that is limited to hubs or queries may read the audit only of a hub, folder, source, query, watch or key that it may use. Name it in resourceId.',
    );
  await load();
}
