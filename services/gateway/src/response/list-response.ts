/** Sends lists. The items are written one by one, because all of them together can have many megabytes. */

import { largestResponse, listTooLarge } from '@datahub/contract/limits';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyReply } from 'fastify';
import { type Page, setPageHeaders } from '../http/pagination.ts';
import { writeJson } from './json-splices.ts';
import { ResponseBytes } from './response-bytes.ts';
import type { ResponseSettings } from './streamed-response.ts';

export interface ListResponse<T, J> {
  items: readonly T[];
  toJson(item: T): J;
  page: Page;
  total: number;
}

/** Resolves to the reply, as the handler of a route does. Rejects with TOO_LARGE for a list of too many bytes. */
export async function sendList<T, J>(
  reply: FastifyReply,
  { items, toJson, page, total }: ListResponse<T, J>,
  { responseBudget }: Pick<ResponseSettings, 'responseBudget'>,
): Promise<FastifyReply> {
  const bytes = new ResponseBytes(reply.request, responseBudget);
  let before = '[';
  for (const item of items) {
    await bytes.add(before + writeJson(toJson(item)));
    if (bytes.length > largestResponse) throw new HubError('TOO_LARGE', listTooLarge);
    before = ',';
  }
  await bytes.add(items.length === 0 ? '[]' : ']');
  setPageHeaders(reply, page, total);
  return reply.header('content-type', 'application/json; charset=utf-8').send(bytes.end());
}
