/** The RPC of the gateways that run training jobs. */

import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { Calls } from '@datahub/service-kit/call/call';
import type { Catalog } from '../catalog.ts';
import { sayOnce } from '../events/hub-event.ts';

export function createJobEventCalls(catalog: Catalog) {
  return {
    tellJobEnded: async ({ accountId, ...data }) => {
      const { jobId, queryId } = data;
      // The query may have been deleted since.
      const query = await catalog.store.queries.get(accountId, queryId);
      const event = { accountId, hubId: query?.hubId ?? null, type: 'job.ended', data } as const;
      await sayOnce(catalog, jobId, event);
      return {};
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}
