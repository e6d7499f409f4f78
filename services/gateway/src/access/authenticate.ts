/**
 * Decides whether a request may come in: its key, its origin, its rate and its scope. A key that was seen lately costs
 * a hash and a look-up in memory. The catalog's answer about it is used for some seconds and refreshed in the
 * background; while the catalog cannot be reached, a known key works for at most a minute. Only hashes of keys are
 * kept, so the time of a look-up reveals nothing about the characters of a key.
 */

import { isIP } from 'node:net';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { audienceOfToken, formOfKey, hashApiKey, type KeyForm } from '@datahub/service-kit/api-key';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError, isKeyRefusal } from '@datahub/service-kit/call/error';
import { joined } from '@datahub/service-kit/yield-to-loop';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LRUCache } from 'lru-cache';
import { requireScope } from '../http/route.ts';
import { userCacheControl } from '../response/cache-headers.ts';
import { addVary } from '../response/compression.ts';
import type { Upstreams } from '../upstreams.ts';
import { keyLimits } from './key-limits.ts';
import { createPrincipalCache } from './principal-cache.ts';
import { type RateLimiter, rateHeaderNames } from './rate-limiter.ts';
import type { UserTokens } from './user-tokens.ts';

export interface AccessDeps {
  keyCache: KeyCache;
  rateLimiter: RateLimiter;
  userTokens: UserTokens;
  /** The origin that browsers load the hub from, if it is configured. */
  publicOrigin?: string | undefined;
  /** The header `WWW-Authenticate` where tokens of agents are accepted; absent if agents cannot connect by address. */
  challenge?: string | undefined;
  /** The key of the session of a request without another key; absent if nobody can sign in. */
  sessionOf?: ((request: FastifyRequest) => string | undefined) | undefined;
}

/** Returns a promise only if there is something to wait for. */
export function authenticate(
  request: FastifyRequest,
  reply: FastifyReply,
  deps: AccessDeps,
): void | Promise<void> {
  let found: Principal | Promise<Principal>;
  let form: KeyForm = 'random';
  try {
    const beforeUnknown = (unknown: KeyForm) => {
      form = unknown;
      deps.rateLimiter.requireFewRefusals(addressOf(request), form);
    };
    found = callerOf(request, { deps, beforeUnknown, reply });
  } catch (err) {
    return refuse(err, request, { address: addressOf(request), form, deps });
  }
  if (!(found instanceof Promise)) return admit(request, reply, { principal: found, deps });
  // Read now, because the caller may have disconnected by the time the promise settles.
  const address = addressOf(request);
  return found.then(
    (principal) => admit(request, reply, { principal, deps }),
    (err) => refuse(err, request, { address, form, deps }),
  );
}

/**
 * For a request that goes on for long: looks the caller up again, and gives the request what the caller may do now.
 * Rejects as `authenticate` and the check of the scope do. Counts for no rate.
 */
export async function authenticateAgain(request: FastifyRequest, deps: AccessDeps): Promise<void> {
  const { context, headers } = request;
  if (context.refusedAs !== undefined) throw context.refusedAs;
  try {
    const principal = await callerOf(request, { deps, beforeUnknown: () => {} });
    keyLimits.origins(principal.limits, headers.origin ?? originOfRead(request, deps));
    context.principal = keyLimits.user(principal.limits)
      ? await deps.userTokens.verify(principal, userTokenOf(request))
      : principal;
    requireScope(request);
  } catch (err) {
    // The catalog is not asked again for each thing that the request has not begun.
    if (isKeyRefusal(err)) context.refusedAs = err;
    throw err;
  }
}

interface CallerOptions {
  deps: AccessDeps;
  beforeUnknown: BeforeUnknown;
  /** Is told what its answer depends on. */
  reply?: FastifyReply;
}

/** The caller by the header, the token of an agent, a key of a client that cannot send the header, or a session. */
function callerOf(
  request: FastifyRequest,
  { deps: { keyCache, sessionOf }, beforeUnknown, reply }: CallerOptions,
): Principal | Promise<Principal> {
  const key = request.headers['x-service-api-key'];
  if (key !== undefined) return keyCache.principalOf(key, beforeUnknown);
  const bearer = bearerOf(request);
  if (bearer !== undefined && audienceOfToken(bearer) === 'mcp')
    return keyCache.principalOfAgent(bearer, beforeUnknown);
  if (bearer !== undefined) return keyCache.principalOf(bearer, beforeUnknown);
  const session = sessionOf?.(request);
  if (session !== undefined && reply !== undefined) addVary(reply, 'cookie');
  return keyCache.principalOf(session, beforeUnknown);
}

/** The key of clients that can only send `Authorization: Bearer`, on the route for them. */
function bearerOf({ headers, context }: FastifyRequest): string | undefined {
  if (context.route?.bearer !== true) return undefined;
  return /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
}

/** The caller's address, as reported by trusted proxies, some of which add its port. */
export function addressOf({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  const address = /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(ip)?.[1] ?? /^\[(.+)\](?::\d+)?$/.exec(ip)?.[1] ?? ip;
  return isIP(address) === 0 ? (socket.remoteAddress ?? '') : address;
}

async function refuse(
  err: unknown,
  { context }: FastifyRequest,
  { address, form, deps }: { address: string; form: KeyForm; deps: AccessDeps },
): Promise<never> {
  if (!isKeyRefusal(err)) throw err;
  await deps.rateLimiter.noteRefusedKey(address, form);
  if (context.route?.bearer !== true || deps.challenge === undefined) throw err;
  throw Object.assign(err, { challenge: deps.challenge });
}

function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  { principal, deps }: { principal: Principal; deps: AccessDeps },
): void | Promise<void> {
  request.context.principal = principal;
  keyLimits.origins(principal.limits, request.headers.origin ?? originOfRead(request, deps));
  const admitted = deps.rateLimiter.admit(principal, reply);
  if (!keyLimits.user(principal.limits)) return admitted;
  // Verified after the rate of the key, so that the rate also limits invalid tokens.
  const admitUser = () => identify(request, reply, { principal, deps });
  return admitted instanceof Promise ? admitted.then(admitUser) : admitUser();
}

/** Counts one more request of a caller that was admitted: a step of a transaction, or one of several executions. */
export async function admitAgain(
  { context }: FastifyRequest,
  reply: FastifyReply,
  { rateLimiter }: Pick<AccessDeps, 'rateLimiter'>,
): Promise<void> {
  const { principal, userRatePerMinute } = context;
  if (principal === undefined) return;
  for (const name of rateHeaderNames) reply.removeHeader(name);
  await rateLimiter.admit(principal, reply);
  if (userRatePerMinute !== undefined) rateLimiter.admitUser(principal, userRatePerMinute, reply);
}

/** Replaces the principal of a key with that of its signed-in user. */
function identify(
  request: FastifyRequest,
  reply: FastifyReply,
  { principal, deps }: { principal: Principal; deps: AccessDeps },
): void | Promise<void> {
  setUserHeaders(request, reply);
  const found = deps.userTokens.verify(principal, userTokenOf(request));
  const admitUser = (user: Principal) => {
    request.context.principal = user;
    const perMinute = principal.limits?.user?.ratePerMinute;
    request.context.userRatePerMinute = perMinute;
    if (perMinute !== undefined) deps.rateLimiter.admitUser(user, perMinute, reply);
  };
  return found instanceof Promise ? found.then(admitUser) : admitUser(found);
}

/** Without the key's own header, Authorization is the key. */
const userTokenOf = ({ headers }: FastifyRequest): string | undefined =>
  headers['x-service-api-key'] === undefined ? undefined : headers.authorization;

/** Caches may keep an answer only for the user whose token the request has, and ask the hub each time. */
function setUserHeaders({ method }: FastifyRequest, reply: FastifyReply): void {
  addVary(reply, 'authorization');
  if (method !== 'POST') reply.header('cache-control', userCacheControl);
}

/** Browsers send no `Origin` with a GET to the origin of the page itself. */
function originOfRead({ method, headers }: FastifyRequest, { publicOrigin }: AccessDeps): string | undefined {
  if (publicOrigin === undefined || (method !== 'GET' && method !== 'HEAD')) return undefined;
  return headers['sec-fetch-site'] === 'same-origin' ? publicOrigin : undefined;
}

export interface KeyCacheOptions {
  catalog: Pick<Upstreams['catalog'], 'authenticate'>;
  /** How long the catalog's answer about a key is used. */
  cacheMs: number;
  /** How long it is used while the catalog cannot be reached. */
  awayMs: number;
  /** The least recently used key is dropped first. */
  keysMax?: number;
  nowMs?: () => number;
}

/** Is called before a key is looked up, or refused without that, and may throw. */
type BeforeUnknown = (form: KeyForm) => void;

export interface KeyCache {
  /**
   * Returns at once for a known key. `beforeUnknown` is called before any other key is looked up.
   * Rejects with KEY_MISSING, KEY_INVALID, KEY_EXPIRED or UNAVAILABLE.
   */
  principalOf(
    header: string | string[] | undefined,
    beforeUnknown: BeforeUnknown,
  ): Principal | Promise<Principal>;
  /** The same for the token of an agent, which is accepted at `/mcp` alone. */
  principalOfAgent(token: string, beforeUnknown: BeforeUnknown): Principal | Promise<Principal>;
  /** The next call asks the catalog: this gateway ended the key with this hash. */
  forget(hash: string): void;
}

interface Entry {
  principal: Principal;
  expiresAtMs: number;
  /** By the monotonic clock. */
  checkedAt: number;
  refreshing: boolean;
  /** When the catalog last could not be reached, by the same clock. */
  unreachableAt: number;
}

const lookUpTimeoutMs = 5_000;
/** A known key is refreshed in the background after half of `cacheMs`. So a catalog that does not answer counts as away in time. */
const refreshTimeoutMs = (cacheMs: number): number => Math.max(cacheMs / 2, 500);
/** After a failed call, requests use what is known for this long and do not wait for the next call. */
const retryPauseMs = 1_000;

export const createKeyCache = (options: KeyCacheOptions): KeyCache => new CatalogKeyCache(options);

class CatalogKeyCache implements KeyCache {
  readonly #options: KeyCacheOptions;
  readonly #entries: LRUCache<string, Entry>;
  readonly #pending = new Map<string, Promise<Principal>>();

  constructor(options: KeyCacheOptions) {
    this.#options = options;
    this.#entries = createPrincipalCache(options.keysMax ?? 10_000);
  }

  principalOf(
    header: string | string[] | undefined,
    beforeUnknown: BeforeUnknown,
  ): Principal | Promise<Principal> {
    if (header === undefined || header === '') {
      beforeUnknown('malformed');
      throw new HubError('KEY_MISSING', 'Send your key in the header x-service-api-key.');
    }
    // A token of an agent for /mcp is no key.
    if (typeof header !== 'string' || audienceOfToken(header) === 'mcp') {
      beforeUnknown('malformed');
      throw invalidKey();
    }
    return this.#principalOf(header, beforeUnknown);
  }

  principalOfAgent(token: string, beforeUnknown: BeforeUnknown): Principal | Promise<Principal> {
    return this.#principalOf(token, beforeUnknown);
  }

  forget(hash: string): void {
    this.#entries.delete(hash);
  }

  #principalOf(text: string, beforeUnknown: BeforeUnknown): Principal | Promise<Principal> {
    const hash = hashApiKey(text);
    const entry = this.#entries.get(hash);
    if (entry === undefined) {
      const form = formOfKey(text);
      beforeUnknown(form);
      if (form === 'malformed') throw invalidKey();
      return this.#lookUpOnce(hash);
    }
    const { cacheMs, nowMs = Date.now } = this.#options;
    if (entry.expiresAtMs <= nowMs()) throw new HubError('KEY_EXPIRED', 'This key has expired.');
    const age = performance.now() - entry.checkedAt;
    if (age >= cacheMs && !this.#isReused(entry)) return this.#lookUpOrReuse(hash, entry);
    if (age >= cacheMs / 2 && !entry.refreshing) this.#refresh(hash, entry);
    return entry.principal;
  }

  async #lookUp(hash: string): Promise<Principal> {
    const checkedAt = performance.now();
    const { principal, expiresAt } = await this.#options.catalog.authenticate(
      { keySha256: Buffer.from(hash, 'hex') },
      createCallContext({
        timeoutMs: this.#entries.has(hash) ? refreshTimeoutMs(this.#options.cacheMs) : lookUpTimeoutMs,
      }),
    );
    if (principal === undefined) throw new HubError('INTERNAL', 'The catalog returned no principal.');
    this.#entries.set(hash, {
      principal,
      expiresAtMs: expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
      checkedAt,
      refreshing: false,
      unreachableAt: Number.NEGATIVE_INFINITY,
    });
    return principal;
  }

  /** One call at a time for a key, however many requests wait for it. */
  #lookUpOnce(hash: string): Promise<Principal> {
    const running = this.#pending.get(hash);
    if (running) return joined(running);
    const call = this.#lookUp(hash).finally(() => this.#pending.delete(hash));
    this.#pending.set(hash, call);
    return call;
  }

  async #lookUpOrReuse(hash: string, entry: Entry): Promise<Principal> {
    try {
      return await this.#lookUpOnce(hash);
    } catch (err) {
      const isAway = err instanceof HubError && err.code === 'UNAVAILABLE';
      if (isAway && performance.now() - entry.checkedAt < this.#options.awayMs) {
        entry.unreachableAt = performance.now();
        return entry.principal;
      }
      this.#entries.delete(hash);
      throw err;
    }
  }

  #refresh(hash: string, entry: Entry): void {
    entry.refreshing = true;
    this.#lookUpOrReuse(hash, entry)
      .catch(() => {})
      .finally(() => {
        entry.refreshing = false;
      });
  }

  /** True while a request that waited for the catalog would probably find it unreachable. */
  #isReused({ checkedAt, unreachableAt, refreshing }: Entry): boolean {
    const now = performance.now();
    if (now - checkedAt >= this.#options.awayMs) return false;
    return now - unreachableAt < retryPauseMs || (refreshing && unreachableAt > checkedAt);
  }
}

/** The catalog's words for an unknown key, so that a malformed key reveals nothing more. */
function invalidKey(): HubError {
  return new HubError('KEY_INVALID', 'This key is unknown or was revoked.');
}
