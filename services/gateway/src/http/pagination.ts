/** Reads `offset` and `limit`, and sets the headers that link to the other pages. */

import { pageItemsMax } from '@datahub/contract/limits';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Fault, RequestError } from './request-error.ts';

export interface Paging {
  /** The limit if the caller sends none. Undefined returns the whole list, up to `pageItemsMax`. */
  limitDefault?: number;
  /** A higher limit is reduced to this. */
  limitMax: number;
}

export interface Page {
  offset: number;
  limit: number | undefined;
}

const offsetMax = 1_000_000_000;

export function readPage(request: FastifyRequest, paging: Paging): Page {
  const query = request.query as Record<string, unknown>;
  const faults: Fault[] = [];
  const read = (name: string): number | undefined => {
    const value = query[name];
    if (value === undefined) return undefined;
    if (typeof value === 'string' && /^\d+$/.test(value)) return Number(value);
    faults.push({ pointer: `query/${name}`, detail: 'must be a whole number, 0 or more' });
    return undefined;
  };
  const offset = Math.min(read('offset') ?? 0, offsetMax);
  const limit = read('limit') ?? paging.limitDefault;
  if (faults.length > 0) {
    throw new RequestError(`${faults[0]?.pointer} ${faults[0]?.detail}.`, faults);
  }
  return { offset, limit: limit === undefined ? undefined : Math.min(limit, paging.limitMax) };
}

/** Sets `X-Total-Count`, and `Link` with first, prev, next and last if a limit applies. */
export function setPageHeaders(reply: FastifyReply, page: Page, total: number): void {
  reply.header('x-total-count', String(total));
  const { offset } = page;
  const isWhole = page.limit === undefined && total - offset <= pageItemsMax;
  const limit = isWhole ? undefined : (page.limit ?? pageItemsMax);
  if (limit === undefined || limit === 0) return;
  const link = (at: number, rel: string) =>
    toLink(reply.request, { parameters: { offset: String(at), limit: String(limit) }, rel });
  const last = Math.max(0, Math.ceil(total / limit) - 1) * limit;
  const links = [link(0, 'first'), link(last, 'last')];
  if (offset > 0) links.push(link(Math.max(0, offset - limit), 'prev'));
  if (offset + limit < total) links.push(link(offset + limit, 'next'));
  reply.header('link', links.join(', '));
}

/**
 * A link to the same path with other parameters (RFC 8288). It names no path, so it leads to the right place behind a
 * proxy that has the hub below a prefix.
 */
export function toLink(
  request: FastifyRequest,
  { parameters, rel }: { parameters: Readonly<Record<string, string>>; rel: string },
): string {
  const { searchParams } = new URL(request.url, 'http://hub');
  for (const [name, value] of Object.entries(parameters)) searchParams.set(name, value);
  return `<?${searchParams}>; rel="${rel}"`;
}
