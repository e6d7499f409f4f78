/**
 * Caches the definitions of queries and sources under leases of at most a second, which are renewed in the background.
 * The catalog names what changed, and the cache drops it at once. An entry outlives its lease only while the catalog
 * cannot be reached.
 */

import type { CatalogInternalServiceService } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { orAborted } from '@datahub/service-kit/call/abort';
import { type CallContext, type Calls, createCallContext, isDeadline } from '@datahub/service-kit/call/call';
import { HubError, toHubError } from '@datahub/service-kit/call/error';
import { joined } from '@datahub/service-kit/yield-to-loop';
import {
  charactersOf,
  type QueryDefinition,
  type SourceDefinition,
  toQueryDefinition,
  toSourceDefinition,
} from './definition.ts';
import { HeldDefinitions } from './held-definitions.ts';
import { KeysById } from './keys-by-id.ts';

export interface DefinitionsOptions {
  catalog: Pick<Calls<typeof CatalogInternalServiceService>, 'resolveQuery' | 'resolveSource'>;
  now: () => number;
  /** Definitions in the cache. */
  cachedMax: number;
  /** Characters of everything in them, of a source once; compiled, they take several times as much memory. */
  charactersMax?: number;
  /** How long a definition may be used after it was requested while the catalog cannot be reached. */
  staleMaxMs: number;
  /** Timeout of a request to the catalog when nothing is cached that could be used instead. */
  resolveTimeoutMs: number;
  /** The same when something is. */
  renewTimeoutMs: number;
}

export interface Definitions {
  /** The definition if it is cached for this account and its lease has not expired: nearly every execution ends here. */
  cached(queryId: string, principal: Principal): QueryDefinition | undefined;
  /** Rejects with NOT_FOUND, SOURCE_GONE, or UNAVAILABLE when the catalog cannot be reached and nothing is cached. */
  query(queryId: string, principal: Principal, caller: Caller): Promise<QueryDefinition>;
  source(sourceId: string, ctx: CallContext): Promise<SourceDefinition>;
  /** See `HeldDefinitions`. */
  hold: HeldDefinitions['hold'];
  /** Drops queries, sources, or hubs with everything in them. No old definition is used once this has returned. */
  invalidate(ids: readonly string[]): void;
  readonly size: number;
}

/** Who waits for a definition. Where several wait for one request, its trace belongs to the first. */
type Caller = Pick<CallContext, 'signal' | 'traceparent'>;

/** While the catalog is down, one request is sent after each pause. */
const downPauseMs = 250;

export function createDefinitions(options: DefinitionsOptions): Definitions {
  const { catalog, now } = options;
  const table = new DefinitionTable(options);
  const reachability = new Reachability(now);
  const requests = createRequests(options, table, reachability);
  const held = new HeldDefinitions();

  const renew = (entry: Entry, principal: Principal) => {
    entry.renewing = true;
    requests.send(entry.definition.queryId, principal, undefined).catch((err) => {
      entry.renewing = false;
      entry.renewAt = now() + downPauseMs;
      if (!isDown(err)) table.drop(entry);
    });
  };
  /** Callers do not wait for a catalog that is down. One request at a time shows whether it still is. */
  const staleOf = (entry: Entry, principal: Principal) => {
    if (!reachability.isDown || now() >= entry.staleEndsAt) return undefined;
    if (reachability.takeProbe()) renew(entry, principal);
    return entry.definition;
  };

  return {
    cached: (queryId, principal) => {
      const entry = table.get(queryId, principal.accountId);
      if (entry === undefined) return undefined;
      const at = now();
      if (at >= entry.leaseEndsAt) return staleOf(entry, principal);
      if (at >= entry.renewAt && !entry.renewing) renew(entry, principal);
      return entry.definition;
    },

    query: async (queryId, principal, { signal, traceparent }) => {
      try {
        return await orAborted(requests.send(queryId, principal, traceparent), signal, stoppedWaiting);
      } catch (err) {
        const entry = isDown(err) ? table.get(queryId, principal.accountId) : undefined;
        if (entry === undefined || now() >= entry.staleEndsAt) throw err;
        return entry.definition;
      }
    },

    source: async (sourceId, ctx) => {
      const { source } = await catalog.resolveSource({ sourceId }, ctx);
      return toSourceDefinition(source);
    },

    hold: (definition) => held.hold(definition),

    invalidate: (ids) => {
      requests.detach();
      table.invalidate(ids);
    },

    get size() {
      return table.size;
    },
  };
}

interface Requests {
  /** Callers who want the same query share one request. */
  send(queryId: string, principal: Principal, traceparent: string | undefined): Promise<QueryDefinition>;
  /** Later callers send new requests. */
  detach(): void;
}

/** Whether the catalog can be reached: by its last answer, or the lack of one. */
class Reachability {
  isDown = false;
  readonly #now: () => number;
  #probeAt = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** True for the one caller that finds out next. */
  takeProbe(): boolean {
    if (this.#now() < this.#probeAt) return false;
    this.#probeAt = Number.POSITIVE_INFINITY;
    return true;
  }

  note(err: unknown): void {
    this.isDown = err !== undefined && isDown(err);
    this.#probeAt = this.#now() + downPauseMs;
  }
}

function createRequests(
  options: DefinitionsOptions,
  table: DefinitionTable,
  reachability: Reachability,
): Requests {
  const { catalog, now, resolveTimeoutMs, renewTimeoutMs } = options;
  const pending = new Map<string, Promise<QueryDefinition>>();
  const resolve: Requests['send'] = async (queryId, principal, traceparent) => {
    const sent = { sentAt: now(), generation: table.generation };
    const isCached = table.get(queryId, principal.accountId) !== undefined;
    const timeoutMs = isCached ? renewTimeoutMs : resolveTimeoutMs;
    const ctx = createCallContext({ timeoutMs, principal: accountOf(principal) });
    const response = await catalog.resolveQuery({ queryId }, { ...ctx, traceparent }).catch((err) => {
      reachability.note(err);
      throw err;
    });
    reachability.note(undefined);
    return table.put(toQueryDefinition(response), { ...sent, leaseMs: response.leaseMs });
  };
  return {
    send: (queryId, principal, traceparent) => {
      const key = `${principal.accountId} ${queryId}`;
      const shared = pending.get(key);
      if (shared) return joined(shared);
      const request = resolve(queryId, principal, traceparent).finally(() => {
        if (pending.get(key) === request) pending.delete(key);
      });
      pending.set(key, request);
      return request;
    },
    detach: () => pending.clear(),
  };
}

/** All keys of an account share a definition. What a key may do with it is checked for every execution. */
function accountOf({ accountId, keyId }: Principal): Principal {
  return { accountId, keyId, scopes: [], limits: undefined };
}

function isDown(err: unknown): boolean {
  return toHubError(err).code === 'UNAVAILABLE';
}

const stoppedWaiting = (cause: unknown) =>
  isDeadline(cause)
    ? new HubError('UNAVAILABLE', 'The hub did not find the query in time. Try again.', {
        cause,
        retryable: true,
      })
    : new HubError('CANCELLED', 'The caller stopped waiting.', { cause });

interface Entry {
  readonly definition: QueryDefinition;
  /** The next use after this renews the lease. */
  renewAt: number;
  /** This and `staleEndsAt` count from when the request was sent. */
  readonly leaseEndsAt: number;
  /** From then on the definition is not used, even if the catalog is down. */
  readonly staleEndsAt: number;
  renewing: boolean;
}

interface SharedSource {
  readonly source: SourceDefinition;
  readonly characters: number;
  queries: number;
}

type TableOptions = Omit<DefinitionsOptions, 'catalog' | 'renewTimeoutMs'>;

const leaseMaxMs = 1_000;
const defaultCharactersMax = 16 * 1_048_576;

/** The cached definitions with their leases, and the ids that were invalidated while requests were pending. */
export class DefinitionTable {
  /** Counts the invalidations. */
  generation = 0;
  readonly #options: TableOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #keys = new KeysById();
  /** By id and version. Queries of one source share it. */
  readonly #sources = new Map<string, SharedSource>();
  #characters = 0;
  /** Oldest first. Kept for longer than any request takes. */
  readonly #invalidations = new Map<string, { generation: number; at: number }>();

  constructor(options: TableOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(queryId: string, accountId: string): Entry | undefined {
    const entry = this.#entries.get(queryId);
    return entry?.definition.accountId === accountId ? entry : undefined;
  }

  /**
   * Caches the response to a request that was sent at `sentAt`, unless a newer definition was cached then or any part of
   * this one was invalidated after `generation`. Returns the definition to use: the cached object if nothing has changed.
   */
  put(
    definition: QueryDefinition,
    request: { sentAt: number; generation: number; leaseMs: number },
  ): QueryDefinition {
    const { sentAt, generation } = request;
    const ids = idsOf(definition);
    if (ids.some((id) => (this.#invalidations.get(id)?.generation ?? 0) > generation)) return definition;
    const entry = this.#entries.get(definition.queryId);
    const old = entry?.definition;
    // A catalog that was restored from a backup answers with lower versions from then on.
    if (entry && sentAt < entry.leaseEndsAt && isOlder(definition, entry.definition)) return definition;
    const current = old && isSame(definition, old) ? old : this.#withSharedSource(definition);
    const leaseMs = Math.min(request.leaseMs, leaseMaxMs);
    this.#remove(current.queryId);
    // The response took longer than its lease: use it once, since it may have changed without notice.
    if (this.#options.now() >= sentAt + leaseMs) return current;
    this.#entries.set(current.queryId, {
      definition: current,
      renewAt: sentAt + leaseMs / 2,
      leaseEndsAt: sentAt + leaseMs,
      staleEndsAt: sentAt + this.#options.staleMaxMs,
      renewing: false,
    });
    this.#keys.add(current.queryId, idsOf(current));
    this.#characters += current.characters;
    this.#holdSource(current);
    this.#evict();
    return current;
  }

  #withSharedSource(definition: QueryDefinition): QueryDefinition {
    const shared = this.#sources.get(sourceKeyOf(definition));
    return shared === undefined ? definition : { ...definition, source: shared.source };
  }

  #holdSource(definition: QueryDefinition): void {
    const key = sourceKeyOf(definition);
    const { source } = definition;
    const shared = this.#sources.get(key) ?? { source, characters: charactersOf(source), queries: 0 };
    if (shared.queries++ > 0) return;
    this.#sources.set(key, shared);
    this.#characters += shared.characters;
  }

  #releaseSource(definition: QueryDefinition): void {
    const key = sourceKeyOf(definition);
    const shared = this.#sources.get(key);
    if (shared === undefined || --shared.queries > 0) return;
    this.#sources.delete(key);
    this.#characters -= shared.characters;
  }

  /** Removes the entries that were put least recently. The newest always stays. */
  #evict(): void {
    const { cachedMax, charactersMax = defaultCharactersMax } = this.#options;
    while (this.size > cachedMax || (this.#characters > charactersMax && this.size > 1)) {
      this.#remove(this.#entries.keys().next().value as string);
    }
  }

  #remove(queryId: string): void {
    const entry = this.#entries.get(queryId);
    if (entry === undefined) return;
    this.#entries.delete(queryId);
    this.#keys.remove(queryId, idsOf(entry.definition));
    this.#characters -= entry.definition.characters;
    this.#releaseSource(entry.definition);
  }

  drop(entry: Entry): void {
    const { queryId } = entry.definition;
    if (this.#entries.get(queryId) === entry) this.#remove(queryId);
  }

  invalidate(ids: readonly string[]): void {
    const at = this.#options.now();
    this.generation++;
    for (const [id, { at: invalidatedAt }] of this.#invalidations) {
      if (invalidatedAt >= at - 2 * this.#options.resolveTimeoutMs) break;
      this.#invalidations.delete(id);
    }
    for (const id of ids) {
      this.#invalidations.delete(id);
      this.#invalidations.set(id, { generation: this.generation, at });
    }
    for (const queryId of this.#keys.of(ids)) this.#remove(queryId);
  }
}

const sourceKeyOf = ({ source: { sourceId, version } }: QueryDefinition) => `${sourceId} ${version}`;

/** A change of any of these can change the definition. */
function idsOf({ queryId, hubId, source }: QueryDefinition): string[] {
  return [queryId, source.sourceId, hubId];
}

function isOlder(one: QueryDefinition, other: QueryDefinition): boolean {
  if (one.version !== other.version) return one.version < other.version;
  return one.source.sourceId === other.source.sourceId && one.source.version < other.source.version;
}

function isSame(one: QueryDefinition, other: QueryDefinition): boolean {
  return (
    one.version === other.version &&
    one.hubPath === other.hubPath &&
    one.grantedName === other.grantedName &&
    one.accountId === other.accountId &&
    one.source.sourceId === other.source.sourceId &&
    one.source.version === other.source.version
  );
}

/** The length of all default values as JSON. */
export const defaultCharactersOf = ({ variables }: QueryDefinition): number =>
  variables.reduce((sum, { valueJson = '' }) => sum + valueJson.length, 0);
