/**
 * Finds the query that a request names: by its id, or by its path in a hub. The id of a path is cached without a time
 * limit, because the executor checks the path against its definition of the query in each call. If the two differ, the
 * catalog is asked again, so a changed path is in effect when its change is answered.
 */

import type { QueryPath } from '@datahub/proto/executor/v1/executor';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Upstreams } from '../upstreams.ts';
import { validationError } from './request-error.ts';

export interface QueryTarget {
  queryId: string;
  /** The names in the request; absent if it has the id. */
  path?: QueryPath | undefined;
}

export interface QueryTargets {
  /** Sets `request.target`. Returns a promise only if the catalog must be asked. */
  resolve(request: FastifyRequest): void | Promise<void>;
  /** The query of a path. Only with `fresh` is it certain that the query has it now, unless the executor checks it. */
  find(path: QueryPath, request: FastifyRequest, fresh: boolean): QueryTarget | Promise<QueryTarget>;
  /** Runs the query. If its path was given to another query meanwhile, runs that one. */
  run(request: FastifyRequest, work: (target: QueryTarget) => Promise<void>): Promise<void>;
  /** The same for one of several queries of a request that reads. */
  runOne(
    named: string | QueryPath,
    request: FastifyRequest,
    work: (target: QueryTarget) => Promise<void>,
  ): Promise<void>;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The query that the request executes. */
    target: QueryTarget | undefined;
    /** The ids of the queries of a transaction. */
    steps: string[] | undefined;
    /** What the executions of a request with several have done so far. One that has not ended counts as failed. */
    executed: Set<{ queryId: string; failed: boolean }> | undefined;
  }
}

const cachedMax = 10_000;

export function createQueryTargets(catalog: Pick<Upstreams['catalog'], 'findQuery'>): QueryTargets {
  const ids = new LRUCache<string, string>({ max: cachedMax });
  const find = async (path: QueryPath, { context }: FastifyRequest): Promise<QueryTarget> => {
    const { queryId } = await catalog.findQuery(path, context);
    ids.set(keyOf(path, context), queryId);
    return { queryId, path };
  };
  return {
    resolve: (request) => {
      const named = readNames(request);
      if (typeof named === 'string') {
        request.target = { queryId: named };
        return;
      }
      // The record of an operation depends on the query, so it must be the present one.
      const isRecorded = request.headers['idempotency-key'] !== undefined;
      const queryId = isRecorded ? undefined : ids.get(keyOf(named, request.context));
      if (queryId !== undefined) request.target = { queryId, path: named };
      else
        return find(named, request).then((target) => {
          request.target = target;
        });
    },

    find: (path, request, fresh) => {
      const queryId = fresh ? undefined : ids.get(keyOf(path, request.context));
      return queryId === undefined ? find(path, request) : { queryId, path };
    },

    run: async (request, work) => {
      const target = request.target as QueryTarget;
      const { path, queryId } = target;
      try {
        return await work(target);
      } catch (err) {
        if (path === undefined || !isUnusable(err)) throw err;
        ids.delete(keyOf(path, request.context));
        const fresh = await find(path, request);
        if (fresh.queryId === queryId) throw err;
        if (request.headers['idempotency-key'] !== undefined) throw moved(err);
        request.target = fresh;
        return work(fresh);
      }
    },

    runOne: async (named, request, work) => {
      if (typeof named === 'string') return work({ queryId: named });
      const key = keyOf(named, request.context);
      const known = ids.get(key);
      try {
        return await work(known === undefined ? await find(named, request) : { queryId: known, path: named });
      } catch (err) {
        if (known === undefined || !isUnusable(err)) throw err;
        ids.delete(key);
        const fresh = await find(named, request);
        if (fresh.queryId === known) throw err;
        return work(fresh);
      }
    },
  };
}

/** Nothing ran: the query does not exist, does not have the path, or has no source. */
const isUnusable = (err: unknown) =>
  err instanceof HubError && (err.code === 'NOT_FOUND' || err.code === 'SOURCE_GONE');

const moved = (cause: unknown) =>
  new HubError('UNAVAILABLE', 'The path was given to another query during the call. Try again.', {
    cause,
    retryable: true,
  });

/** Neither ids nor paths contain a space. */
const keyOf = ({ hub, path }: QueryPath, { principal }: FastifyRequest['context']): string =>
  `${principal?.accountId} ${hub} ${path}`;

/** The id of the query, or its names. */
function readNames({ params, body }: FastifyRequest): string | QueryPath {
  const { queryId, hubId: hub, '*': path } = params as Record<string, string | undefined>;
  if (queryId !== undefined) return queryId;
  if (hub !== undefined && path !== undefined) return { hub, path };
  return readBody(body as { queryId?: string; hubId?: string; path?: string });
}

function readBody({ queryId, hubId, path }: { queryId?: string; hubId?: string; path?: string }) {
  if (queryId !== undefined) {
    const detail = 'is not allowed together with queryId';
    const sent = Object.entries({ hubId, path }).filter(([, value]) => value !== undefined);
    if (sent.length === 0) return queryId;
    throw validationError(sent.map(([name]) => ({ pointer: `/${name}`, detail })));
  }
  if (hubId !== undefined && path !== undefined) return { hub: hubId, path };
  const isNeither = hubId === undefined && path === undefined;
  const pointer = isNeither ? '/queryId' : hubId === undefined ? '/hubId' : '/path';
  const detail = isNeither
    ? 'is missing; send queryId, or hubId and path'
    : 'is missing; hubId and path are sent together';
  throw validationError([{ pointer, detail }]);
}
