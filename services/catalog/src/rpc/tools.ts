/** Lists the queries that agents can call as tools. */

import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { type Catalog, loadHub } from '../catalog.ts';
import type { QueryDoc } from '../documents.ts';
import { keyLimits } from '../key-limits.ts';
import { findBatches, weightOf } from '../pagination.ts';
import { reachedQueries } from './query-names/reach.ts';
import { toQuery } from './to-proto.ts';

const toolsMax = 2_000;
/** Characters of one response. Variables with long lists of allowed values count most. */
const charactersMax = 4 * 1_048_576;

export function createToolCalls(catalog: Catalog) {
  return {
    listTools: async (_request, ctx) => {
      const principal = requirePrincipal(ctx);
      const isReadable = createReadableHubs(catalog, principal);
      const queries: QueryDoc[] = [];
      let characters = 0;
      for await (const doc of toolsOf(catalog, principal)) {
        if (!(await isReadable(doc.hubId))) continue;
        const query = { ...doc, query: '' };
        characters += weightOf(query);
        if (queries.length === toolsMax || characters > charactersMax)
          return { queries: queries.map((one) => toQuery(one)), truncated: true };
        queries.push(query);
      }
      return { queries: queries.map((one) => toQuery(one)), truncated: false };
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

/** All tools that the key is limited to by queries or hubs, ordered by id in each hub. */
async function* toolsOf(catalog: Catalog, { accountId, limits }: Principal): AsyncGenerator<QueryDoc> {
  const { store } = catalog;
  const ids = await reachedQueries(catalog, { accountId, limits });
  if (ids !== undefined) {
    for (const id of [...new Set(ids)].sort()) {
      const query = await store.queries.get(accountId, id);
      if (query?.tool !== undefined) yield query;
    }
    return;
  }
  const hubIds = keyLimits.hubIds.ids(limits);
  const filters = hubIds === undefined ? [{ isTool: 1 }] : hubIds.map((hubId) => ({ hubId, isTool: 1 }));
  const all = { offset: 0, limit: Number.POSITIVE_INFINITY };
  for (const where of filters)
    for await (const batch of findBatches(store.queries, { accountId, where }, all)) yield* batch;
}

/** Returns a function that says whether the key may use a hub that exists. It reads each hub once. */
function createReadableHubs(catalog: Catalog, principal: Principal): (hubId: string) => Promise<boolean> {
  const known = new Map<string, Promise<boolean>>();
  const read = (hubId: string) =>
    loadHub(catalog, principal, hubId).then(
      () => true,
      (err) => {
        if (err instanceof HubError && (err.code === 'NOT_FOUND' || err.code === 'SCOPE_DENIED'))
          return false;
        throw err;
      },
    );
  return (hubId) => {
    const reading = known.get(hubId) ?? read(hubId);
    known.set(hubId, reading);
    return reading;
  };
}
