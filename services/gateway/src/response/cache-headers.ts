/**
 * The result cache in HTTP: reads the cache headers of a request and sets those of the answer. RFC 9110, 8.8.3 and
 * 13.1.2 (ETags), RFC 9111 (caching), RFC 5861 (stale-while-revalidate), RFC 9211 (Cache-Status).
 */

import {
  type CacheInfo,
  type CacheRequest,
  CacheInfo_Outcome as Outcome,
} from '@datahub/proto/executor/v1/executor';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { addVary, type Compression } from './compression.ts';

/** Undefined if the request has no header for the cache. An answer with an ending has no ETag. */
export function readCacheRequest(
  { headers, method }: FastifyRequest,
  coding: string | undefined,
  ending?: object,
): CacheRequest | undefined {
  const control = headers['cache-control'];
  // On a POST, If-None-Match would be a precondition of a change.
  const condition = method === 'POST' || ending !== undefined ? undefined : headers['if-none-match'];
  if (control === undefined && condition === undefined) return undefined;
  // `fetch` adds `no-cache` to every request with a condition, so it has no effect there.
  const ignoresCache = condition === undefined ? /no-(?:cache|store)/i : /no-store/i;
  const directives = control?.split(',').map((directive) => directive.trim()) ?? [];
  return {
    bypass: directives.some((directive) => ignoresCache.exec(directive)?.[0] === directive),
    anyEtag: condition?.trim() === '*',
    etags: condition === undefined ? [] : readTags(condition, coding).map(({ etag }) => etag),
  };
}

/** An ETag: `etag` as the executor made it, `sent` as the client sent it. */
interface Tag {
  etag: string;
  sent: string;
}

/** Ignores `W/`, because If-None-Match compares weakly. */
const tag = /(?:W\/)?("([\x21\x23-\x7e]*)")/g;
const executorTag = /^([0-9a-f]{32})(?:-(\w+))?$/;
/** What most clients send: one ETag of an uncompressed answer. */
const onlyTag = /^"[0-9a-f]{32}"$/;

/** Returns the ETags of the uncompressed answer and of the answer in the coding that this request would get. */
function readTags(condition: string, coding: string | undefined): Tag[] {
  if (onlyTag.test(condition)) return [{ etag: condition.slice(1, -1), sent: condition }];
  const tags: Tag[] = [];
  for (const [, sent = '', text = ''] of condition.matchAll(tag)) {
    const [, etag, suffix] = executorTag.exec(text) ?? [];
    if (etag !== undefined && (suffix === undefined || suffix === coding)) tags.push({ etag, sent });
  }
  return tags;
}

/** The ETag for a 304: the one that the client sent, or the one of its coding if it sent `*`. */
export function unchangedTag({ headers }: FastifyRequest, info: CacheInfo, coding: string | undefined) {
  const known = readTags(headers['if-none-match'] ?? '', coding).find(({ etag }) => etag === info.etag);
  return known?.sent ?? `"${info.etag}${coding === undefined ? '' : `-${coding}`}"`;
}

/** For people and for keys with `limits.user`: a browser asks the hub before it uses an answer again, so the token or the session is checked. */
export const userCacheControl = 'private, no-cache';

/** An answer to POST gets Cache-Status only, because HTTP caches do not store it. */
export function setCacheHeaders(request: FastifyRequest, reply: FastifyReply, info: CacheInfo): void {
  reply.header('cache-status', toCacheStatus(info));
  if (request.method === 'POST') return;
  const { maxAgeS, staleS, ageMs, etag } = info;
  const stale = staleS > 0 ? `, stale-while-revalidate=${staleS}` : '';
  const { user, person } = request.context.principal ?? {};
  const isOfUser = user !== undefined || person !== undefined;
  reply.header('cache-control', isOfUser ? userCacheControl : `private, max-age=${maxAgeS}${stale}`);
  if (ageMs !== undefined) reply.header('age', toAgeS(ageMs));
  if (etag !== undefined) reply.header('etag', `"${etag}"`);
  for (const name of ['x-service-api-key', 'origin']) addVary(reply, name);
}

/** Sets the headers for HEAD. An answer that GET would compress gets the ETag of its coding and no length. */
export function setHeadHeaders(
  request: FastifyRequest,
  reply: FastifyReply,
  { info, compression }: { info: CacheInfo; compression: Compression },
): void {
  setCacheHeaders(request, reply, info);
  addVary(reply, 'accept-encoding');
  if (info.etag === undefined || info.bytes === undefined) return;
  const coding = compression.codingOf(request, info.bytes);
  if (coding === undefined) reply.header('content-length', info.bytes);
  else reply.header('etag', `"${info.etag}-${coding}"`);
}

/** For one of several answers of a request. */
export const cacheFieldsOf = (info: CacheInfo): Record<string, string> => ({
  'cache-status': toCacheStatus(info),
  ...(info.ageMs === undefined ? {} : { age: String(toAgeS(info.ageMs)) }),
});

const toAgeS = (ageMs: number): number => Math.ceil(ageMs / 1_000);

function toCacheStatus({ outcome, maxAgeS, ageMs = 0, etag }: CacheInfo): string {
  const ttl = `ttl=${maxAgeS - toAgeS(ageMs)}`;
  switch (outcome) {
    case Outcome.OUTCOME_HIT:
    case Outcome.OUTCOME_STALE:
      return `data-hub; hit; ${ttl}`;
    case Outcome.OUTCOME_COLLAPSED:
      return `data-hub; fwd=miss; collapsed; ${ttl}`;
    case Outcome.OUTCOME_VALIDATED:
      return `data-hub; fwd=stale; fwd-status=304; ${ttl}`;
    case Outcome.OUTCOME_BYPASS:
      return 'data-hub; fwd=request';
    default:
      return etag === undefined ? 'data-hub; fwd=miss' : `data-hub; fwd=miss; stored; ${ttl}`;
  }
}
