/** Reads all pages of the OpenAPI document of a hub over the REST API. */

import type { Hub } from '../hub.ts';
import type { HubDocument } from './hub-module.ts';

const pageSize = 500;

export async function readDocument(hub: Hub, hubId: string): Promise<HubDocument[]> {
  const pages: HubDocument[] = [];
  for (;;) {
    let total = 0;
    const page: unknown = await hub.call('GET /v1/hubs/{hubId}/openapi.json', {
      path: { hubId },
      query: { offset: pages.length * pageSize, limit: pageSize },
      onResponse: ({ headers }) => {
        total = Number(headers.get('x-total-count') ?? 0);
      },
    });
    pages.push(page as HubDocument);
    if (pages.length * pageSize >= total) return pages;
  }
}
