/** The RPCs of the gateways that ask the provider whether it still knows the people who signed in. */

import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { EndRefreshRequest } from '@datahub/proto/catalog/v1/people';
import type { CallContext, Calls } from '@datahub/service-kit/call/call';
import { type Catalog, overtaken, untilWritten } from '../../catalog.ts';
import type { PersonDoc } from '../../people/documents.ts';
import { endSessions, sessionsOf } from '../../people/session.ts';
import { personEntry } from '../audit.ts';
import { saidMembers, withoutSaid } from './sign-in.ts';

/** People of one call. */
const takenMax = 32;
/** A gateway that does not answer leaves the person to others. Longer than it waits for the provider. */
const leaseMs = 120_000;

export function createRefreshCalls(catalog: Catalog) {
  const { people } = catalog.store;
  return {
    takeRefreshes: async ({ limit }) => {
      const now = catalog.nowMs();
      const { found: due } = await people.findDue(now, Math.min(limit, takenMax));
      const taken = await Promise.all(
        due.map((person) =>
          people.replace({ ...person, refreshAt: now + leaseMs, version: person.version + 1 }),
        ),
      );
      const refreshes = due
        .filter((_, at) => taken[at])
        .map(({ accountId, id, issuer, subject, refreshToken = '' }) => ({
          ...{ accountId, personId: id, issuer, subject },
          refreshToken: Buffer.from(refreshToken, 'base64'),
        }));
      return { refreshes };
    },

    endRefresh: async (request, ctx) => {
      const person = await untilWritten(() => noteRefresh(catalog, ctx, request));
      if (request.ended && person !== null) await endSessions(catalog, await sessionsOf(catalog, person));
      return {};
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

/** Resolves to null if the person is gone, or has signed in meanwhile. */
async function noteRefresh(
  catalog: Catalog,
  ctx: CallContext,
  { refresh, ended, said, nextToken }: EndRefreshRequest,
): Promise<PersonDoc | null | typeof overtaken> {
  const { people } = catalog.store;
  const { accountId = '', personId = '', refreshToken = new Uint8Array() } = refresh ?? {};
  const old = await people.get(accountId, personId);
  if (old === null || old.refreshToken !== Buffer.from(refreshToken).toString('base64')) return null;
  const nowMs = catalog.nowMs();
  const written = { version: old.version + 1, updatedAt: nowMs };
  const { refreshToken: _, ...kept } = old;
  let next: PersonDoc;
  if (said !== undefined)
    next = { ...withoutSaid(old), ...(await saidMembers(catalog, accountId, said)), ...written };
  else if (nextToken !== undefined)
    next = { ...old, refreshToken: Buffer.from(nextToken).toString('base64'), ...written };
  else next = { ...kept, refreshAt: null, ...(ended ? { ended: 1 as const } : {}), ...written };
  const entry = ended ? personEntry(catalog, ctx, { rpc: 'endSignIns', accountId, personId }) : undefined;
  return (await people.replace(next, entry)) ? next : overtaken;
}
