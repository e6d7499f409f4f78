/** The RPCs for the executor only: definitions with sealed credentials, and notifications of changes. */

import { insertIfNew } from '@datahub/document-store';
import type {
  CatalogInternalServiceService,
  ResealedSource,
  SealedSecrets,
  TakeDeliveriesRequest,
  TakenDelivery,
} from '@datahub/proto/catalog/v1/catalog_internal';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createLoopYield } from '@datahub/service-kit/yield-to-loop';
import { type Catalog, loadQuery, loadQueryAndHub, loadSource, makeContext } from '../catalog.ts';
import type { SourceCheckDoc } from '../documents.ts';
import { deliveriesOfAccountMax, endDelivery, postponeDelivery, takeDelivery } from '../events/deliveries.ts';
import { shareOut } from '../events/share-out.ts';
import { noteSource } from '../events/source-reach.ts';
import { requireMayWriteQueries } from '../key-limits.ts';
import { sweepSource } from '../maintenance/deletion-sweep.ts';
import { makeQuery } from '../query.ts';
import { checkDescribed, saveSignature } from '../signature.ts';
import { createLoginCalls } from './logins.ts';
import { noteCommit } from './operations.ts';
import { createRecordRuns } from './query-runs.ts';
import { toResolvedQuery, toResolvedSource } from './to-proto.ts';

export type InternalCalls = Calls<typeof CatalogInternalServiceService>;

const pageMax = 1_000;
/** Characters of a page. The certificates of one source can have 130,000. */
const charactersMax = 4 * 1_048_576;
/** Due deliveries that are looked at besides those that the executor can take. */
const deliveriesBehind = 32;
/** For so long, one call looks for more deliveries after it has postponed those that it found. */
const looksMs = 1_000;
const resealMax = 100;
/** The most queries of one source that are checked. */
const checkedMax = 100_000;
/** The index of sources has their ids alone, so a whole definition is read for each, of up to a megabyte. */
const queriesAtOnce = 16;

interface InternalOptions {
  /** How long an executor may cache a definition. */
  leaseMs: number;
  /** Kept of each query. */
  queryRunsMax: number;
}

export function createInternalCalls(catalog: Catalog, options: InternalOptions): InternalCalls {
  const { store } = catalog;
  const { leaseMs } = options;
  return {
    resolveQuery: createResolveQuery(catalog, leaseMs),

    resolveSource: async ({ sourceId }, ctx) => ({
      source: toResolvedSource(await loadSource(catalog, requirePrincipal(ctx), sourceId)),
      leaseMs,
    }),

    resolveDraft: async ({ sourceId, query, command, context: variables, ...rest }, ctx) => {
      const context = makeContext(catalog, ctx);
      requireMayWriteQueries(context.principal.limits);
      const source = await loadSource(catalog, context.principal, sourceId);
      const { hubId, parentNodeId, engine } = source;
      const place = { hubId, parentNodeId, label: 'draft', sourceId, engine };
      const { notNull, errors, sessionJson, transactionJson } = rest;
      const statement = { query, command, transactionJson };
      const definition = { ...statement, context: variables?.variables, notNull, errors, sessionJson };
      const draft = makeQuery({ ...place, ...definition }, context);
      return { query: toResolvedQuery(draft, undefined), source: toResolvedSource(source), leaseMs: 0 };
    },

    watch: (requests, ctx) => catalog.changes.watch(requests, ctx.signal),

    leaseSlots: (requests, ctx) => catalog.slots.lease(requests, ctx.signal),

    saveSignature: async ({ queryId, ...described }, ctx) => {
      const principal = requirePrincipal(ctx);
      checkDescribed(described);
      const by = { keyId: principal.keyId, requestId: ctx.requestId };
      await saveSignature(catalog, await loadQuery(catalog, principal, queryId), { described, by });
      return {};
    },

    noteSource: async ({ sourceId, ...seen }, ctx) => {
      const source = await loadSource(catalog, requirePrincipal(ctx), sourceId);
      await noteSource(catalog, source, seen);
      await sweepSource(store, source);
      return {};
    },

    takeSourceCheck: createTakeSourceCheck(catalog),

    recordRuns: createRecordRuns(catalog, options),

    ...createLoginCalls(catalog),

    noteCommit: (request, ctx) => noteCommit(catalog, request, ctx),

    ...createDeliveryCalls(catalog),
    ...createSealedCalls(catalog),
  };
}

function createDeliveryCalls(catalog: Catalog) {
  return {
    takeDeliveries: async ({ limit, running }) => {
      const stopAt = performance.now() + looksMs;
      for (;;) {
        const { deliveries, lagMs, isAll } = await takeDue(catalog, { limit, running });
        if (deliveries.length > 0 || isAll || performance.now() >= stopAt) return { deliveries, lagMs };
      }
    },

    endDelivery: async (request) => ({ state: await endDelivery(catalog, request) }),
  } satisfies Partial<InternalCalls>;
}

/** `isAll`: nothing is due besides what was looked at. */
async function takeDue(
  catalog: Catalog,
  { limit, running }: Pick<TakeDeliveriesRequest, 'limit' | 'running'>,
): Promise<{ deliveries: TakenDelivery[]; lagMs: number; isAll: boolean }> {
  const now = catalog.nowMs();
  const readMax = Math.min(limit, pageMax) + deliveriesBehind;
  const { found: due, isAll } = await catalog.store.deliveries.findDue(now, readMax);
  const { mine, later } = shareOut(due, { limit, running, accountMax: deliveriesOfAccountMax });
  const taken = await Promise.allSettled(mine.map((delivery) => takeDelivery(catalog, delivery)));
  // Those of other accounts may be behind them.
  if (!isAll) await Promise.allSettled(later.map((delivery) => postponeDelivery(catalog, delivery)));
  // What was leased must reach the executor. The rest is found again.
  const deliveries = taken.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : []));
  return { deliveries, lagMs: Math.max(0, now - (due[0]?.dueAt ?? now)), isAll };
}

function createSealedCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    listSealed: async ({ afterSourceId, limit }) => {
      const after = positionOf(afterSourceId);
      const docs = await store.sources.scan({ after, ...pageOf(limit) });
      return { sources: docs.map(toResolvedSource) };
    },

    reseal: async ({ more, ...first }) => {
      if (more.length >= resealMax)
        throw new HubError('VALIDATION', `A call can reseal at most ${resealMax} sources.`);
      // The writes are concurrent, because the store batches them.
      const [done = false, ...moreDone] = await Promise.all(
        [first, ...more].map((resealed) => saveSealed(catalog, resealed)),
      );
      return { done, moreDone };
    },

    listSealedSecrets: async ({ afterDestinationId, limit }) => {
      const after = positionOf(afterDestinationId);
      const docs = await store.destinations.scan({ after, ...pageOf(limit) });
      const secrets = docs.map(({ id: destinationId, accountId, version, secrets }) => ({
        ...{ accountId, destinationId, version },
        sealed: secrets.map(({ sealed }) => sealed),
      }));
      return { secrets };
    },

    resealSecrets: async ({ secrets }) => ({ done: await saveSecrets(catalog, secrets) }),
  } satisfies Partial<InternalCalls>;
}

function createResolveQuery(catalog: Catalog, leaseMs: number): InternalCalls['resolveQuery'] {
  return async ({ queryId }, ctx) => {
    const principal = requirePrincipal(ctx);
    const { query, hub } = await loadQueryAndHub(catalog, principal, queryId);
    const source = await catalog.store.sources.get(principal.accountId, query.sourceId);
    if (source === null) {
      throw new HubError(
        'SOURCE_GONE',
        'The source of this query was deleted. Bind the query to another one.',
      );
    }
    // Its statement was checked by the rules of its own engine.
    if (source.engine !== query.engine) {
      throw new HubError(
        'SOURCE_GONE',
        `The source of this query was changed from ${query.engine} to ${source.engine}. Bind the query to another source.`,
      );
    }
    return { query: toResolvedQuery(query, hub), source: toResolvedSource(source), leaseMs };
  };
}

function createTakeSourceCheck(catalog: Catalog): InternalCalls['takeSourceCheck'] {
  return async ({ sourceId, everyMs }, ctx) => {
    const { hubId, accountId } = await loadSource(catalog, requirePrincipal(ctx), sourceId);
    const check = { id: sourceId, accountId, hubId };
    const taken = everyMs === undefined || (await takeCheck(catalog, check, everyMs));
    const takenAt = (await catalog.store.sourceChecks.get(accountId, sourceId))?.takenAt;
    if (!taken) return { taken, queryIds: [], takenAt };
    await sweepSource(catalog.store, check);
    return { taken: true, queryIds: await queriesOf(catalog, accountId, sourceId), takenAt };
  };
}

async function queriesOf({ store }: Catalog, accountId: string, sourceId: string): Promise<string[]> {
  const ids: string[] = [];
  const mayYield = createLoopYield();
  while (ids.length < checkedMax) {
    const after = ids.length === 0 ? {} : { afterId: ids.at(-1) as string };
    const page = { accountId, where: { sourceId }, ...after, limit: queriesAtOnce };
    const found = await store.queries.findSummaries(page);
    ids.push(...found.map(({ id }) => id));
    if (found.length < queriesAtOnce) break;
    await mayYield();
  }
  return ids;
}

/** Resolves to false if the source was deleted, or has changed since its old envelopes were read. */
async function saveSealed(
  { store }: Catalog,
  { accountId, sourceId, expectedVersion, sealed }: ResealedSource,
): Promise<boolean> {
  const source = await store.sources.get(accountId, sourceId);
  if (source === null || source.version !== expectedVersion || sealed === undefined) return false;
  const { ssh } = source;
  const { key } = source.tls;
  return store.sources.replace({
    ...source,
    version: source.version + 1,
    user: { ...source.user, sealed: sealed.user },
    password: { ...source.password, sealed: sealed.password },
    tls: key === undefined ? source.tls : { ...source.tls, key: { ...key, sealed: sealed.tlsKey } },
    ...(ssh && {
      ssh: {
        ...ssh,
        ...(ssh.privateKey && { privateKey: { ...ssh.privateKey, sealed: sealed.sshPrivateKey ?? '' } }),
        ...(ssh.password && { password: { ...ssh.password, sealed: sealed.sshPassword ?? '' } }),
      },
    }),
  });
}

/** Resolves to false if the destination was deleted, or has changed since its old envelopes were read. */
async function saveSecrets({ store }: Catalog, resealed: SealedSecrets | undefined): Promise<boolean> {
  const { accountId = '', destinationId = '', sealed = [] } = resealed ?? {};
  const destination = await store.destinations.get(accountId, destinationId);
  if (destination === null || destination.version !== resealed?.version) return false;
  const secrets = destination.secrets.map((secret, i) => ({ ...secret, sealed: sealed[i] ?? secret.sealed }));
  return store.destinations.replace({ ...destination, secrets, version: destination.version + 1 });
}

const pageOf = (limit: number) => ({ limit: Math.min(limit || pageMax, pageMax), charactersMax });

function positionOf(text: string): { accountId: string; id: string } | undefined {
  const [accountId = '', id = ''] = text.split('/');
  return text === '' ? undefined : { accountId, id };
}

/** Of several callers, one gets the check of a source in `everyMs`. */
async function takeCheck(
  { store: { sourceChecks }, nowMs }: Catalog,
  check: Omit<SourceCheckDoc, 'version' | 'takenAt'>,
  everyMs: number,
): Promise<boolean> {
  const takenAt = nowMs();
  const last = await sourceChecks.get(check.accountId, check.id);
  // A time far ahead is from before the clock was set back.
  if (last !== null && Math.abs(takenAt - last.takenAt) < everyMs) return false;
  if (last !== null) return sourceChecks.replace({ ...last, takenAt, version: last.version + 1 });
  return insertIfNew(sourceChecks, { ...check, takenAt, version: 1 });
}
