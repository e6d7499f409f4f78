/** The RPCs of grants, which give people their roles. */

import { createHash } from 'node:crypto';
import { isOfQueries } from '@datahub/contract/key-limits';
import { hubsOfPersonMax, type Role, roles, scopesOfRole } from '@datahub/contract/roles';
import { isConfined } from '@datahub/contract/withheld';
import { insertIfNew } from '@datahub/document-store';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import {
  type Catalog,
  loadHub,
  makeContext,
  notFound,
  overtaken,
  remove,
  untilWritten,
} from '../../catalog.ts';
import { createChecker } from '../../check.ts';
import { type KeyReach, requireNoMore, requireNoStronger } from '../../key-delegation.ts';
import { listSome } from '../../pagination.ts';
import { grantedHubsMax, grantsMax, grantsOf } from '../../people/acting.ts';
import { type GrantDoc, type WhoKind, whoKinds } from '../../people/documents.ts';
import { foldAddress } from '../../people/fold-address.ts';
import { toGrant } from '../../people/to-proto.ts';
import { auditEntry } from '../audit.ts';
import { loadCaller, reachOf } from '../key-access.ts';

const valueLength = { min: 1, max: 500 };
/** Providers know addresses in any script. */
const mailShape = /^[^\s@]+@[^\s@]+$/;

export function createGrantCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    createGrant: async ({ who, role, hubIds }, ctx) => {
      const { principal, accountId, nowMs, createId } = makeContext(catalog, ctx);
      const check = createChecker();
      const kind = check.oneOf(['who'], who?.kind ?? '', whoKinds) as WhoKind;
      const value = check.text(['who', kind], who?.value ?? '', valueLength);
      if (kind === 'email' && !mailShape.test(value))
        check.fault(['who', kind], 'must be a mail address such as a@example.com');
      check.oneOf(['role'], role, roles);
      if (hubIds.length > hubsOfPersonMax)
        check.fault(['hubIds'], `must have at most ${hubsOfPersonMax} hubs`);
      check.done();
      const grant: GrantDoc = {
        id: createId('grnt', nowMs),
        accountId,
        version: 1,
        who: { kind, value: kind === 'email' ? foldAddress(value) : value },
        role: role as Role,
        ...(hubIds.length === 0 ? {} : { hubIds: [...new Set(hubIds)] }),
        createdAt: nowMs,
      };
      grant.content = createHash('sha256').update(contentOf(grant)).digest('hex');
      requireNoMore(reachOf(principal, await loadCaller(catalog, principal)), reachOfGrant(grant));
      for (const hubId of hubIds) await loadHub(catalog, principal, hubId);
      const entry = auditEntry(catalog, ctx, { rpc: 'createGrant', resourceId: grant.id });
      const attempt = async () => {
        const grants = await grantsOf(catalog, accountId);
        const same = grants.find(saysTheSame(grant));
        if (same !== undefined) return { grant: toGrant(same) };
        requireRoom(grants, grant);
        // Another process may have stored the same meanwhile.
        return (await insertIfNew(store.grants, grant, entry)) ? { grant: toGrant(grant) } : overtaken;
      };
      return await store.oneByOne(`${accountId} grants`, () => untilWritten(attempt));
    },

    listGrants: async (page, ctx) => {
      const principal = requirePrincipal(ctx);
      const { accountId } = principal;
      const isListed = (grant: GrantDoc) => sees(principal, grant);
      const { docs, total } = await listSome(store.grants, { accountId, isListed }, page);
      return { grants: docs.map(toGrant), total };
    },

    deleteGrant: async ({ grantId, ...expected }, ctx) => {
      const principal = requirePrincipal(ctx);
      const { accountId } = principal;
      const reach = reachOf(principal, await loadCaller(catalog, principal));
      const load = async () => {
        const grant = await store.grants.get(accountId, grantId);
        if (grant === null) throw notFound('grant');
        requireNoStronger(reach, reachOfGrant(grant));
        return grant;
      };
      const grant = await load();
      // Older releases, or two processes at once, could store it twice. It must not go on giving the role.
      for (const { id } of (await grantsOf(catalog, accountId)).filter(saysTheSame(grant)))
        if (id !== grantId) await store.grants.delete(accountId, id);
      const entry = auditEntry(catalog, ctx, { rpc: 'deleteGrant', resourceId: grantId });
      await remove({ collection: store.grants, load, expected, entry });
      return {};
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

/** Returns whether another grant says the same. A grant can name many hubs, so its content is read once. */
function saysTheSame(grant: GrantDoc): (other: GrantDoc) => boolean {
  const content = contentOf(grant);
  return (other) => contentOf(other) === content;
}
const contentOf = ({ who: { kind, value }, role, hubIds }: GrantDoc): string =>
  JSON.stringify([kind, value, role, hubIds?.toSorted()]);

/** Each call of a person finds the roles of the person among all grants. */
function requireRoom(grants: readonly GrantDoc[], { hubIds: named = [] }: GrantDoc): void {
  if (grants.length >= grantsMax)
    throw new HubError('QUOTA_EXCEEDED', `An account can have ${grantsMax} grants. Grant a role to a group.`);
  const hubs = grants.reduce((sum, { hubIds = [] }) => sum + hubIds.length, named.length);
  if (hubs > grantedHubsMax)
    throw new HubError(
      'QUOTA_EXCEEDED',
      `The grants of an account can name ${grantedHubsMax} hubs in all. Grant a role to a group, or in all hubs.`,
    );
}

/** What the grant gives, as a key that would have it. */
export const reachOfGrant = ({ role, hubIds }: Pick<GrantDoc, 'role' | 'hubIds'>): KeyReach => ({
  scopes: [...scopesOfRole[role]],
  limits: hubIds === undefined ? {} : { hubIds },
  expiresAt: null,
});

/** Whoever is limited to hubs sees the grants in these hubs; whoever is limited to queries sees none. */
function sees({ limits }: Principal, { hubIds }: GrantDoc): boolean {
  if (limits === undefined || !isConfined(limits)) return true;
  if (isOfQueries(limits)) return false;
  return hubIds?.every((id) => limits.hubIds.includes(id)) ?? false;
}
