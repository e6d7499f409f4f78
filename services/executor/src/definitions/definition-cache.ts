/**
 * What the executor knows of queries and sources. Definitions are held under leases of at most a second, dropped the
 * moment the catalog names them as changed, and outlive their lease only while no catalog can be reached.
 */

import type { EngineName } from '@datahub/contract/engines';
import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import type { CatalogInternalServiceService } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { CallSignal } from '@datahub/service-kit/call/abort-signal';
import { type CallContext, type Calls, createCallContext } from '@datahub/service-kit/call/call';
import { HubError, toHubError } from '@datahub/service-kit/call/error';
import type { ServerSettings, TlsSettings } from '../engine.ts';
import type { PooledSource } from '../pool/pool-registry.ts';
import { toQueryDefinition, toSourceDefinition } from './from-proto.ts';
import { type Held, HeldDefinitions } from './lease-table.ts';

export interface SourceDefinition extends PooledSource {
  hubId: string;
  engine: EngineName;
  host: string;
  port: number;
  database: string;
  tls: Omit<TlsSettings, 'key'>;
  sealed: { user: string; password: string; tlsKey: string };
  statementTimeoutMs: number | undefined;
  authSource?: string;
  servers?: ServerSettings;
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
  /** For the catalog's answer, where nothing is held that could serve without it. */
  resolveTimeoutMs: number;
  /** The same where something is. */
  renewTimeoutMs: number;
}

export interface Definitions {
  /** The definition, when it is held for this account and its lease runs: the way of nearly every execution. */
  held(queryId: string, principal: Principal): QueryDefinition | undefined;
  /** Rejects with NOT_FOUND, SOURCE_GONE, or UNAVAILABLE when the catalog is away and nothing is held. */
  query(queryId: string, principal: Principal, caller: Caller): Promise<QueryDefinition>;
  source(sourceId: string, ctx: CallContext): Promise<SourceDefinition>;
  /** Drops what is named: queries, sources, or hubs with everything in them. Returns when nothing old can come back. */
  letGo(ids: readonly string[]): void;
  readonly size: number;
}

/** After a failed try the catalog counts as away for this long before it is asked again. */
const awayPauseMs = 250;

export function createDefinitions(options: DefinitionsOptions): Definitions {
  const { catalog, now, resolveTimeoutMs } = options;
  const all = new HeldDefinitions({ ...options, memoryMs: 2 * resolveTimeoutMs });
  const asker = createAsker(options, all);
  let awayUntil = 0;

  const renew = (held: Held, principal: Principal) => {
    held.renewing = true;
    asker.ask(held.definition.queryId, principal, undefined).catch((err) => {
      held.renewing = false;
      held.renewAt = now() + awayPauseMs;
      if (isAway(err)) awayUntil = held.renewAt;
      else all.drop(held);
    });
  };

  return {
    held: (queryId, principal) => {
      const held = all.get(queryId, principal.accountId);
      if (held === undefined) return undefined;
      const at = now();
      if (at < held.leaseEndsAt) {
        if (at >= held.renewAt && !held.renewing) renew(held, principal);
        return held.definition;
      }
      return at < awayUntil && at < held.awayEndsAt ? held.definition : undefined;
    },

    query: async (queryId, principal, { signal, traceparent }) => {
      try {
        return await orCallerGone(asker.ask(queryId, principal, traceparent), signal);
      } catch (err) {
        const held = isAway(err) ? all.get(queryId, principal.accountId) : undefined;
        if (held === undefined || now() >= held.awayEndsAt) throw err;
        awayUntil = now() + awayPauseMs;
        return held.definition;
      }
    },

    source: async (sourceId, ctx) => {
      const { source } = await catalog.resolveSource({ sourceId }, ctx);
      return toSourceDefinition(source);
    },

    letGo: (ids) => {
      asker.forget();
      all.letGo(ids);
    },

    get size() {
      return all.size;
    },
  };
}

/** Who waits for it; of several that wait for one answer the trace of the first is followed. */
type Caller = Pick<CallContext, 'signal' | 'traceparent'>;

interface Asker {
  /** One request however many ask at the same time. */
  ask(queryId: string, principal: Principal, traceparent: string | undefined): Promise<QueryDefinition>;
  /** Those who ask from now on start another request. */
  forget(): void;
}

function createAsker(
  { catalog, now, resolveTimeoutMs, renewTimeoutMs }: DefinitionsOptions,
  all: HeldDefinitions,
): Asker {
  const asking = new Map<string, Promise<QueryDefinition>>();
  const request: Asker['ask'] = async (queryId, principal, traceparent) => {
    const asked = { sentAt: now(), step: all.step };
    const isHeld = all.get(queryId, principal.accountId) !== undefined;
    const timeoutMs = isHeld ? renewTimeoutMs : resolveTimeoutMs;
    const ctx = createCallContext({ timeoutMs, principal: accountOf(principal) });
    const answer = await catalog.resolveQuery({ queryId }, { ...ctx, traceparent });
    return all.put(toQueryDefinition(answer), { ...asked, leaseMs: answer.leaseMs });
  };
  return {
    ask: (queryId, principal, traceparent) => {
      const key = `${principal.accountId} ${queryId}`;
      const under = asking.get(key);
      if (under) return under;
      const answer = request(queryId, principal, traceparent).finally(() => {
        if (asking.get(key) === answer) asking.delete(key);
      });
      asking.set(key, answer);
      return answer;
    },
    forget: () => asking.clear(),
  };
}

/** Definitions are shared by the keys of an account; what a key may do with one is looked at in every execution. */
function accountOf({ accountId, keyId }: Principal): Principal {
  return { accountId, keyId, scopes: [], limits: undefined };
}

function isAway(err: unknown): boolean {
  return toHubError(err).code === 'UNAVAILABLE';
}

function orCallerGone<T>(work: Promise<T>, signal: CallSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () =>
      reject(new HubError('CANCELLED', 'The caller stopped waiting.', { cause: signal.reason }));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
