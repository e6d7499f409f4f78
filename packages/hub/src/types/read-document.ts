/** Reads all pages of the OpenAPI document of a hub over the REST API. */

import { parseExact } from '@datahub/contract/exact-json';
import type { HubDocument } from './hub-module.ts';

export interface HubAccess {
  url: string;
  key: string;
}

const timeoutMs = 30_000;
const pageSize = 500;
/** The most pages of hubs that are searched for a label. */
const hubPagesMax = 50;
const hubPageSize = 20;

export async function readDocument(access: HubAccess, hubId: string): Promise<HubDocument[]> {
  const pages: HubDocument[] = [];
  for (;;) {
    const path = `/v1/hubs/${encodeURIComponent(hubId)}/openapi.json?offset=${pages.length * pageSize}&limit=${pageSize}`;
    const { body, total } = await read<HubDocument>(access, path);
    pages.push(body);
    if (pages.length * pageSize >= total) return pages;
  }
}

/** `named` is an id or a label. Throws if no hub, or more than one, has that label. */
export async function findHub(access: HubAccess, named: string): Promise<string> {
  if (/^[a-z][a-z0-9-]*\.hub\.[\w-]+$/.test(named)) return named;
  const found: string[] = [];
  for (let page = 0; page < hubPagesMax; page++) {
    const path = `/v1/hubs?offset=${page * hubPageSize}&limit=${hubPageSize}`;
    const { body, total } = await read<{ hubId: string; label: string }[]>(access, path);
    found.push(...body.filter(({ label }) => label === named).map(({ hubId }) => hubId));
    if ((page + 1) * hubPageSize >= total) break;
  }
  const [hubId, ...others] = found;
  if (hubId === undefined)
    throw new Error(`No hub has the label ${JSON.stringify(named)}. Use the id of the hub.`);
  if (others.length > 0)
    throw new Error(`Several hubs have this label. Use the id of one of them: ${found.join(', ')}`);
  return hubId;
}

async function read<T>({ url, key }: HubAccess, path: string): Promise<{ body: T; total: number }> {
  const response = await fetch(new URL(path, url), {
    headers: { 'x-service-api-key': key },
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'error',
  }).catch((err) => {
    throw new Error(`No hub answers at ${url}. Set DATAHUB_URL.`, { cause: err });
  });
  // A variable may allow integers that a double does not hold.
  const body = parseExact(await response.text()) as T & { detail?: string };
  if (!response.ok) throw new Error(`The hub rejected the command: ${body.detail}`);
  return { body, total: Number(response.headers.get('x-total-count') ?? 0) };
}
