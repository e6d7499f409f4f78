/** The versions of a stored query. */

import type { Complete } from '@datahub/contract/complete';
import type { CatalogServiceService, QueryVersion } from '@datahub/proto/catalog/v1/catalog';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { type Catalog, loadQuery, notFound } from '../catalog.ts';
import type { QueryDoc } from '../documents.ts';
import { type VersionedChange, withoutNames } from '../query.ts';
import { findVersion, listOlder, readOlder, stampOf } from '../query-version.ts';
import { secretsOf, withoutDefaults } from '../secret-variables/kept-secrets.ts';
import { changeQuery } from './query-changes.ts';
import { toQuery } from './to-proto.ts';

export function createQueryVersionCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    listQueryVersions: async ({ queryId, page }, ctx) => {
      const present = await loadQuery(catalog, requirePrincipal(ctx), queryId);
      const total = 1 + (await listOlder(store, present)).length;
      const offset = page?.offset ?? 0;
      const end = Math.min(total, offset + (page?.limit ?? total));
      const first = Math.max(offset, 1);
      const older = await readOlder(store, present, { offset: first - 1, limit: Math.max(0, end - first) });
      const queries = older.map(({ query }) => query);
      if (offset === 0 && end > 0) queries.unshift(present);
      const secrets = secretsOf(present.context);
      return { versions: queries.map((query) => toVersion(withoutDefaults(query, secrets))), total };
    },

    restoreQuery: ({ queryId, number, ...expected }, ctx) => {
      const change = async (doc: QueryDoc) => {
        const was = await findVersion(store, doc, number);
        if (was === null) throw notFound('version of this query');
        if (was.sourceId !== doc.sourceId) await requireSource(catalog, was, number);
        return toChange(was);
      };
      return changeQuery(catalog, ctx, {
        rpc: 'restoreQuery',
        queryId,
        expected,
        change,
        restoredFrom: number,
      });
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

function toVersion(query: QueryDoc): Complete<QueryVersion> {
  const { number, at, keyId, restoredFrom } = stampOf(query);
  return { number, at: new Date(at), keyId, restoredFrom, query: toQuery(withoutNames(query)) };
}

/** Every member of a version. */
function toChange(was: QueryDoc): Complete<VersionedChange> {
  const { label, command, context, query, sourceId, cache, notNull, ...rest } = toQuery(was);
  return {
    label,
    command,
    query,
    sourceId,
    context: { variables: context },
    cache: { policy: cache },
    notNull: { names: notNull },
    errors: rest.errors ?? '',
    sessionJson: rest.sessionJson ?? '',
    transactionJson: rest.transactionJson ?? '',
    keepValues: rest.keepValues ?? false,
  };
}

async function requireSource(
  { store }: Catalog,
  { accountId, sourceId }: QueryDoc,
  number: number,
): Promise<void> {
  if ((await store.sources.get(accountId, sourceId)) !== null) return;
  throw new HubError(
    'SOURCE_GONE',
    `The source of version ${number} was deleted. Change the members that you want back with PUT instead.`,
  );
}
