/**
 * Counts the operations that do not go through the catalog (executions, classifiers, summaries) and sends the counts to
 * the catalog every few seconds. No request waits for this. A crash loses the counts that were not sent.
 */

import type { AuditAction } from '@datahub/contract/audit-actions';
import type { RecordUseRequest_Use } from '@datahub/proto/catalog/v1/catalog';
import type { Principal, User } from '@datahub/proto/common/v1/principal';
import { createCallContext } from '@datahub/service-kit/call/call';
import type { HubError } from '@datahub/service-kit/call/error';
import { DistinctSketch, type SketchPlace, sketchPlaceOf } from '@datahub/service-kit/distinct-sketch';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { kinds } from '../http/problem-details.ts';
import { isFromConsole } from '../http/request-context.ts';
import { countedAs } from '../http/route.ts';
import type { Upstreams } from '../upstreams.ts';

export interface UsageCounter {
  answered(request: FastifyRequest, reply: FastifyReply): void;
  /** A query was executed, or failed, that no request asked for. */
  ran(principal: Principal, queryId: string, failure?: HubError): void;
  /** Sends the remaining counts. */
  close(): Promise<void>;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What a request did, if its route does not say it. */
    use: { action: AuditAction; resourceId: string } | undefined;
  }
}

export interface UsageCounterOptions {
  catalog: Pick<Upstreams['catalog'], 'recordUse'>;
  logger: Logger;
  intervalMs?: number;
  /** At this many entries the counts are sent early. */
  entriesMax?: number;
  nowMs?: () => number;
}

interface Use extends Omit<RecordUseRequest_Use, 'users'> {
  /** The signed-in users. */
  users?: DistinctSketch;
}

/** What one request adds. */
interface Counted extends Omit<Use, 'users'> {
  user?: SketchPlace | undefined;
}

interface Key {
  principal: Principal;
  /** Uses by action, then by resource. */
  uses: Map<string, Map<string, Use>>;
}

const flushTimeoutMs = 5_000;
/** While the catalog is slow, this many times as many entries wait as are sent at once. Further requests are not counted. */
const waitingShare = 4;
const hourMs = 3_600_000;
/**
 * A store usually writes this many within the timeout. The catalog returns the indexes of those that it did not write.
 */
const usesPerCall = 200;
/** Statuses of requests that were refused before anything was done, or that name no resource of the caller. */
const uncountedStatuses = new Set([400, 401, 403, 404, 405, 406, 413, 415, 429]);

/** True if a call that failed so is not counted. */
export const isRefused = ({ code }: HubError): boolean => uncountedStatuses.has(kinds[code].status);

export function createUsageCounter(options: UsageCounterOptions): UsageCounter {
  const { logger, intervalMs = 5_000, entriesMax = 5_000, nowMs = Date.now } = options;
  const send = createSend(options);
  const waitingMax = waitingShare * entriesMax;
  let hours = new Hours();
  let flushing: Promise<void> | undefined;
  let lost = 0;
  const placeOf = createUserPlaces();

  const sendAll = async (taken: Hours): Promise<void> => {
    for (const counts of taken)
      for (const [principal, uses] of counts.batches()) {
        const left = await send(principal, uses, counts.lastAt);
        // The next flush sends them again, unless too many counts are waiting.
        if (hours.size < entriesMax) for (const use of left) hours.at(counts.lastAt).restore(principal, use);
      }
    flushing = undefined;
    if (lost > 0)
      logger.warn({ event: 'usage.lost', requests: lost }, 'requests were not counted: too many wait');
    lost = 0;
  };

  /** What arrives meanwhile is added up. The next flush sends it. */
  const flush = (): Promise<void> => {
    if (flushing !== undefined || hours.size === 0) return flushing ?? Promise.resolve();
    const taken = hours;
    hours = new Hours();
    flushing = sendAll(taken);
    return flushing;
  };

  const timer = setInterval(() => void flush(), intervalMs);
  timer.unref();

  const count = (principal: Principal, { action, resourceId, failed = false }: Done): void => {
    if (hours.size >= waitingMax) {
      lost++;
      return;
    }
    const user = action === 'query.execute' ? placeOf(principal) : undefined;
    hours.at(nowMs()).add(principal, { action, resourceId, count: 1, failed: failed ? 1 : 0, user });
    if (hours.size >= entriesMax) void flush();
  };

  return {
    answered: (request, reply) => {
      const route = request.context?.route;
      const action = request.use?.action ?? (route && countedAs(route));
      const principal = request.context?.principal;
      const status = reply.raw.statusCode;
      if (action === undefined || principal === undefined || uncountedStatuses.has(status)) return;
      for (const use of usesOf(request, action))
        count(principal, { ...use, failed: use.failed ?? hasFailed(request, reply) });
    },

    ran: (principal, resourceId, failure) => {
      if (failure !== undefined && isRefused(failure)) return;
      count(principal, { action: 'query.execute', resourceId, failed: failure !== undefined });
    },

    close: async () => {
      clearInterval(timer);
      await flushing;
      await flush();
    },
  };
}

/** Returns a function that sends uses, and resolves to those that could not be recorded. */
function createSend({ catalog, logger, nowMs = Date.now }: UsageCounterOptions) {
  return async (principal: Principal, uses: Use[], lastAt: number): Promise<Use[]> => {
    const ctx = createCallContext({ timeoutMs: flushTimeoutMs, principal });
    let left = uses;
    let err: unknown;
    try {
      const ageMs = Math.max(0, nowMs() - lastAt);
      const answer = await catalog.recordUse({ uses: uses.map(toMessage), ageMs }, ctx);
      left = answer.left.map((index) => uses[index]).filter((use) => use !== undefined);
    } catch (failure) {
      err = failure;
    }
    if (left.length > 0)
      logger.warn(
        { event: 'usage.kept', uses: left.length, err },
        'usage counts could not be recorded and will be sent again',
      );
    return left;
  };
}

interface Done {
  action: string;
  resourceId: string;
  /** Absent if it failed if the request did. */
  failed?: boolean;
}

/** What a request did, and to which resources. */
function usesOf(request: FastifyRequest, action: AuditAction): Done[] {
  const uses = listUses(request, action);
  return isFromConsole(request) ? uses.map(inConsole) : uses;
}

function listUses(request: FastifyRequest, action: AuditAction): Done[] {
  if (request.use !== undefined) return [request.use];
  if (request.executed !== undefined)
    return Array.from(request.executed, ({ queryId: resourceId, failed }) => ({
      action,
      resourceId,
      failed,
    }));
  const { classifierId, queryId, jobId } = request.params as Record<string, string | undefined>;
  // A query that is not stored is counted under its source.
  const { queryId: executed, sourceId } = (request.body ?? {}) as { queryId?: string; sourceId?: string };
  const inPath = classifierId ?? queryId ?? jobId;
  const resourceId = request.createdId ?? request.target?.queryId ?? inPath ?? executed ?? sourceId ?? '';
  return [{ action, resourceId }, ...usedBesides(request)];
}

/** What a person runs in the console is no call of a program. */
const inConsole = ({ action, ...use }: Done): Done => ({
  ...use,
  action: action === 'query.execute' ? 'query.console' : action,
});

/** An answer that began with 200 can end with a problem. */
const hasFailed = ({ failedWith }: FastifyRequest, { raw }: FastifyReply): boolean =>
  raw.statusCode >= 400 || !raw.writableFinished || failedWith !== undefined;

/** A verified token has one user object while it is cached, so its digest is computed once. */
function createUserPlaces(): (principal: Principal) => SketchPlace | undefined {
  const places = new WeakMap<User, SketchPlace>();
  return ({ accountId, user }) => {
    if (user === undefined) return undefined;
    const place = places.get(user) ?? sketchPlaceOf(JSON.stringify([accountId, user.issuer, user.subject]));
    places.set(user, place);
    return place;
  };
}

const noUses: readonly never[] = [];

/** The resources that a request uses besides the one in its path, such as the classifiers of an annotated execution. */
function usedBesides(request: FastifyRequest): readonly { action: string; resourceId: string }[] {
  const { body, context, steps } = request;
  if (steps !== undefined) return steps.map((resourceId) => ({ action: 'query.execute', resourceId }));
  const { queryId, options } = (body ?? {}) as {
    queryId?: string;
    options?: { annotate?: { classifier: string }[] };
  };
  if (queryId !== undefined && context.route?.audit !== 'query.execute')
    return [{ action: 'query.execute', resourceId: queryId }];
  if (options?.annotate === undefined) return noUses;
  const classifiers = new Set(options.annotate.map(({ classifier }) => classifier));
  return [...classifiers].map((resourceId) => ({ action: 'classifier.predict', resourceId }));
}

const noUsers = Buffer.alloc(0);
const toMessage = ({ users, ...use }: Use): RecordUseRequest_Use => ({
  ...use,
  users: users?.toBytes() ?? noUsers,
});

/** The catalog counts by hours, and gets the counts some seconds later, or when its store is back. */
class Hours {
  readonly #counts = new Map<number, UsageCounts>();

  /** The counts of the hour of a time. */
  at(ms: number): UsageCounts {
    const hour = Math.floor(ms / hourMs);
    const counts = this.#counts.get(hour) ?? new UsageCounts();
    counts.lastAt = Math.max(counts.lastAt, ms);
    this.#counts.set(hour, counts);
    return counts;
  }

  get size(): number {
    let size = 0;
    for (const counts of this) size += counts.size;
    return size;
  }

  [Symbol.iterator](): Iterator<UsageCounts> {
    return this.#counts.values();
  }
}

/** What the catalog notes of a caller. The limits of a key, and the grants of a person, can have megabytes. */
const callerOf = ({ accountId, keyId, person }: Principal): Principal => ({
  ...{ accountId, keyId, scopes: [], limits: undefined },
  ...(person === undefined ? {} : { person: { id: person.id, grants: [] } }),
});

/** Counts uses of one hour by key, action and resource. */
class UsageCounts {
  /** The time of the last one. */
  lastAt = 0;
  /** The number of different entries. */
  size = 0;
  readonly #keys = new Map<string, Key>();

  add(principal: Principal, { user, ...counted }: Counted): void {
    const use = this.#useOf(principal, counted);
    use.count += counted.count;
    use.failed += counted.failed;
    if (user === undefined) return;
    use.users ??= new DistinctSketch();
    use.users.add(user);
  }

  /** Adds a use that could not be recorded. */
  restore(principal: Principal, { users, ...counted }: Use): void {
    this.add(principal, counted);
    if (users === undefined) return;
    const use = this.#useOf(principal, counted);
    use.users ??= new DistinctSketch();
    use.users.merge(users.toBytes());
  }

  #useOf(principal: Principal, { action, resourceId }: Pick<Use, 'action' | 'resourceId'>): Use {
    let key = this.#keys.get(principal.keyId);
    if (key === undefined) {
      key = { principal: callerOf(principal), uses: new Map() };
      this.#keys.set(principal.keyId, key);
    }
    let ofAction = key.uses.get(action);
    if (ofAction === undefined) {
      ofAction = new Map();
      key.uses.set(action, ofAction);
    }
    let use = ofAction.get(resourceId);
    if (use === undefined) {
      use = { action, resourceId, count: 0, failed: 0 };
      ofAction.set(resourceId, use);
      this.size++;
    }
    return use;
  }

  *batches(): Generator<[Principal, Use[]]> {
    for (const { principal, uses } of this.#keys.values()) {
      const all = [...uses.values()].flatMap((ofAction) => [...ofAction.values()]);
      for (let i = 0; i < all.length; i += usesPerCall) yield [principal, all.slice(i, i + usesPerCall)];
    }
  }
}
