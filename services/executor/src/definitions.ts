/**
 * What the executor knows of queries and sources. Definitions are held under leases of at most a second, dropped the
 * moment the catalog names them as changed, and outlive their lease only while no catalog can be reached.
 */

import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import type { CatalogInternalServiceService } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type CallContext, type Calls, createCallContext } from '@datahub/service-kit/call';
import { HubError, toHubError } from '@datahub/service-kit/error';
import { toQueryDefinition, toSourceDefinition } from './definitions-from-proto.ts';
import type { EngineName, TlsSettings } from './engine.ts';
import type { PooledSource } from './pool-registry.ts';

export interface SourceDefinition extends PooledSource {
  hubId: string;
  engine: EngineName;
  host: string;
  port: number;
  database: string;
  tls: Omit<TlsSettings, 'key'>;
  sealed: { user: string; password: string; tlsKey: string };
  statementTimeoutMs: number | undefined;
}

export interface QueryDefinition {
  queryId: string;
  accountId: string;
  hubId: string;
  command: string;
  text: string;
  variables: Variable[];
  version: number;
  source: SourceDefinition;
}

export interface DefinitionsOptions {
  catalog: Pick<Calls<typeof CatalogInternalServiceService>, 'resolveQuery' | 'resolveSource'>;
  now: () => number;
  /** Definitions held at the same time. */
  heldMax: number;
  /** How long a definition may outlive its lease while the catalog is away. */
  awayMaxMs: number;
  resolveTimeoutMs: number;
}

export interface Definitions {
  /** The definition, when it is held for this account and its lease runs: the way of nearly every execution. */
  held(queryId: string, principal: Principal): QueryDefinition | undefined;
  /** Rejects with NOT_FOUND, SOURCE_GONE, or UNAVAILABLE when the catalog is away and nothing is held. */
  query(queryId: string, principal: Principal, signal: AbortSignal): Promise<QueryDefinition>;
  source(sourceId: string, ctx: CallContext): Promise<SourceDefinition>;
  /** Drops what is named: queries, sources, or hubs with everything in them. Returns when nothing old can come back. */
  letGo(ids: readonly string[]): void;
  readonly size: number;
}

interface Held {
  definition: QueryDefinition;
  /** From here on somebody asks again, so that the lease is renewed before it ends. */
  renewAt: number;
  leaseEndsAt: number;
  /** Counted from the request that brought it, like the lease. */
  awayEndsAt: number;
  renewing: boolean;
}

const leaseMaxMs = 1_000;
/** After a failed try the catalog counts as away for this long before it is asked again. */
const awayPauseMs = 250;

export function createDefinitions(options: DefinitionsOptions): Definitions {
  const { catalog, now } = options;
  const all = new Map<string, Held>();
  const asking = new Map<string, Promise<QueryDefinition>>();
  /** What was let go lately, so that an answer asked for earlier is used once and not held. */
  const lately = new Map<string, { step: number; at: number }>();
  let step = 0;
  let awayUntil = 0;

  const hold = (definition: QueryDefinition, sentAt: number, leaseMs: number): QueryDefinition => {
    const old = all.get(definition.queryId)?.definition;
    if (old && isOlder(definition, old)) return definition;
    const kept = old && isSame(definition, old) ? old : definition;
    const bounded = Math.min(leaseMs, leaseMaxMs);
    all.delete(kept.queryId);
    if (bounded === 0) return kept;
    all.set(kept.queryId, {
      definition: kept,
      renewAt: sentAt + bounded / 2,
      leaseEndsAt: sentAt + bounded,
      awayEndsAt: sentAt + options.awayMaxMs,
      renewing: false,
    });
    if (all.size > options.heldMax) all.delete(all.keys().next().value as string);
    return kept;
  };

  const ask = async (queryId: string, principal: Principal): Promise<QueryDefinition> => {
    const sentAt = now();
    const sentIn = step;
    const ctx = createCallContext({ timeoutMs: options.resolveTimeoutMs, principal: accountOf(principal) });
    const answer = await catalog.resolveQuery({ queryId }, ctx);
    const definition = toQueryDefinition(answer);
    const changed = idsOf(definition).some((id) => (lately.get(id)?.step ?? 0) > sentIn);
    return changed ? definition : hold(definition, sentAt, answer.leaseMs);
  };

  /** One request however many ask; those who come after something was let go start another. */
  const askOnce = (queryId: string, principal: Principal): Promise<QueryDefinition> => {
    const key = `${principal.accountId} ${queryId}`;
    const under = asking.get(key);
    if (under) return under;
    const answer = ask(queryId, principal).finally(() => {
      if (asking.get(key) === answer) asking.delete(key);
    });
    asking.set(key, answer);
    return answer;
  };

  const renew = (held: Held, principal: Principal) => {
    held.renewing = true;
    askOnce(held.definition.queryId, principal).catch((err) => {
      held.renewing = false;
      held.renewAt = now() + awayPauseMs;
      if (isAway(err)) awayUntil = held.renewAt;
      else if (all.get(held.definition.queryId) === held) all.delete(held.definition.queryId);
    });
  };

  return {
    held: (queryId, principal) => {
      const held = all.get(queryId);
      if (held === undefined || held.definition.accountId !== principal.accountId) return undefined;
      const at = now();
      if (at < held.leaseEndsAt) {
        if (at >= held.renewAt && !held.renewing) renew(held, principal);
        return held.definition;
      }
      return at < awayUntil && at < held.awayEndsAt ? held.definition : undefined;
    },

    query: async (queryId, principal, signal) => {
      try {
        return await orCallerGone(askOnce(queryId, principal), signal);
      } catch (err) {
        if (!isAway(err)) throw err;
        const held = all.get(queryId);
        if (held?.definition.accountId !== principal.accountId || now() >= held.awayEndsAt) throw err;
        awayUntil = now() + awayPauseMs;
        return held.definition;
      }
    },

    source: async (sourceId, ctx) => {
      const { source } = await catalog.resolveSource({ sourceId }, ctx);
      return toSourceDefinition(source);
    },

    letGo: (ids) => {
      const at = now();
      asking.clear();
      step++;
      forgetBefore(lately, at - 2 * options.resolveTimeoutMs);
      for (const id of ids) {
        lately.delete(id);
        lately.set(id, { step, at });
      }
      const named = new Set(ids);
      for (const [queryId, { definition }] of all) {
        if (idsOf(definition).some((id) => named.has(id))) all.delete(queryId);
      }
    },

    get size() {
      return all.size;
    },
  };
}

/** Those whose change changes the definition. */
function idsOf({ queryId, hubId, source }: QueryDefinition): string[] {
  return [queryId, source.sourceId, hubId];
}

/** No request is under way for as long as this, so older entries tell nothing; the map is in the order of time. */
function forgetBefore(times: Map<string, { at: number }>, before: number): void {
  for (const [id, { at }] of times) {
    if (at >= before) return;
    times.delete(id);
  }
}

/** Definitions are shared by the keys of an account; what a key may do with one is looked at in every execution. */
function accountOf({ accountId, keyId }: Principal): Principal {
  return { accountId, keyId, scopes: [], limits: undefined };
}

function isOlder(one: QueryDefinition, other: QueryDefinition): boolean {
  if (one.version !== other.version) return one.version < other.version;
  return one.source.sourceId === other.source.sourceId && one.source.version < other.source.version;
}

function isSame(one: QueryDefinition, other: QueryDefinition): boolean {
  return (
    one.version === other.version &&
    one.accountId === other.accountId &&
    one.source.sourceId === other.source.sourceId &&
    one.source.version === other.source.version
  );
}

function isAway(err: unknown): boolean {
  return toHubError(err).code === 'UNAVAILABLE';
}

function orCallerGone<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () =>
      reject(new HubError('CANCELLED', 'The caller stopped waiting.', { cause: signal.reason }));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
