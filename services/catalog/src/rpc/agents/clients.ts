/** The RPCs of clients of OAuth: those that an admin registers, and those that register themselves. */

import { faultOfRedirectUri, redirectUriBounds } from '@datahub/contract/people/oauth';
import type { Client } from '@datahub/proto/catalog/v1/agents';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { createApiKey, hashApiKey } from '@datahub/service-kit/api-key';
import { type CallContext, type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { IdKind } from '@datahub/service-kit/id';
import { endAgents } from '../../agents/agent.ts';
import type { ClientDoc } from '../../agents/documents.ts';
import { type Catalog, insertOnce, makeContext, notFound } from '../../catalog.ts';
import { createChecker } from '../../check.ts';
import { listPage } from '../../pagination.ts';
import { auditEntry } from '../audit.ts';
import { requireWholeAccount } from '../people/people.ts';

/** A client that registered itself and that nobody uses. */
const unusedMs = 86_400_000;
const dynamicMax = 1_000;
const dynamicPerHour = 60;
/** Of one network, so that it does not keep all others out. */
const networkPerHour = 10;
const hourMs = 3_600_000;

interface Wanted {
  name: string;
  redirectUris: string[];
}

export function createClientCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    createClient: async (wanted, ctx) => {
      const { principal, accountId, nowMs, createId } = makeContext(catalog, ctx);
      requireWholeAccount(principal);
      const secret = createApiKey();
      const id = createId('clnt', nowMs);
      using _room = await catalog.quota.requireRoom(store.clients, { accountId, id }, 'clients');
      const doc: ClientDoc = {
        ...{ id, accountId, version: 1, clientId: id, ...checked(wanted) },
        ...{ secretHash: hashApiKey(secret), dynamic: 0, createdAt: nowMs, expiresAt: null },
      };
      const entry = auditEntry(catalog, ctx, { rpc: 'createClient', resourceId: id });
      if ((await insertOnce(store.clients, doc, entry)) !== doc)
        throw new HubError(
          'IDEMPOTENCY_CONFLICT',
          `The first request with this Idempotency-Key created ${id}. Its answer with the secret was lost. Delete the client and create another one.`,
        );
      return { client: toClient(doc), secret };
    },

    registerClient: async ({ network, ...wanted }, ctx) => {
      const account = await store.accounts.getUnique('name', 'first');
      if (account === null) throw notFound('account');
      const { id: accountId } = account;
      const nowMs = catalog.nowMs();
      const members = checked(wanted);
      const id = catalog.createId('clnt', nowMs);
      const doc: ClientDoc = {
        ...{ id, accountId, version: 1, clientId: id, ...members },
        ...{ dynamic: 1, network, createdAt: nowMs, expiresAt: nowMs + unusedMs },
      };
      await store.oneByOne(`${accountId} clients`, async () => {
        await requireRate(catalog, accountId, network);
        await store.clients.insert(doc, entryOfClient(catalog, ctx, doc));
      });
      return { client: toClient(doc) };
    },

    listClients: async (page, ctx) => {
      const principal = requirePrincipal(ctx);
      requireWholeAccount(principal);
      const { docs, total } = await listPage(store.clients, { accountId: principal.accountId }, page);
      return { clients: docs.map(toClient), total };
    },

    findClient: async ({ clientId }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const client = await findClient(catalog, clientId);
      const isUsable = client !== null && (client.dynamic === 1 || client.accountId === accountId);
      return { client: isUsable ? toClient(client) : undefined };
    },

    deleteClient: async ({ clientId }, ctx) => {
      const principal = requirePrincipal(ctx);
      requireWholeAccount(principal);
      const { accountId } = principal;
      const companion = auditEntry(catalog, ctx, { rpc: 'deleteClient', resourceId: clientId });
      if (!(await store.clients.delete(accountId, clientId, { companion }))) throw notFound('client');
      await catalog.leftovers.finish(`agents of ${clientId}`, () =>
        endAgents(catalog, { accountId, where: { clientId } }),
      );
      return {};
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

/** Null for one that does not exist or that nobody used in time. */
export async function findClient({ store, nowMs }: Catalog, clientId: string): Promise<ClientDoc | null> {
  const kind: IdKind = 'clnt';
  if (clientId.split('.').at(-2) !== kind) return null;
  const client = await store.clients.getUnique('clientId', clientId);
  return client === null || (client.expiresAt ?? Number.POSITIVE_INFINITY) <= nowMs() ? null : client;
}

function checked({ name, redirectUris }: Wanted): Wanted {
  const check = createChecker();
  const label = check.label(['name'], name);
  const { min, max } = redirectUriBounds.entries;
  if (redirectUris.length < min || redirectUris.length > max)
    check.fault(['redirectUris'], `must have ${min} to ${max} addresses`);
  redirectUris.forEach((uri, index) => {
    const fault = faultOfRedirectUri(uri);
    if (fault !== undefined) check.fault(['redirectUris', index], fault);
  });
  check.done();
  return { name: label, redirectUris: [...redirectUris] };
}

/** Counts in the store, which all gateways share. What was registered before the clock was set back does not count. */
async function requireRate({ store, nowMs }: Catalog, accountId: string, network: string): Promise<void> {
  const where = { dynamic: 1 };
  const newest = await store.clients.find({ accountId, where, limit: dynamicPerHour, descending: true });
  const now = nowMs();
  const ofHour = newest.filter(({ createdAt }) => createdAt > now - hourMs && createdAt <= now);
  const requireFewer = (clients: ClientDoc[], max: number, whose: string) => {
    const oldest = clients[max - 1];
    if (oldest === undefined) return;
    throw new HubError('RATE_LIMITED', `At most ${max} clients${whose} can register in an hour.`, {
      retryable: true,
      retryAfterMs: oldest.createdAt + hourMs - now,
    });
  };
  requireFewer(
    ofHour.filter((client) => client.network === network),
    networkPerHour,
    ' of your network',
  );
  requireFewer(ofHour, dynamicPerHour, '');
  if ((await store.clients.count({ accountId, where })) >= dynamicMax)
    throw new HubError(
      'QUOTA_EXCEEDED',
      `At most ${dynamicMax} clients that registered themselves are kept.`,
    );
}

/** Nobody is known who did it. */
function entryOfClient(catalog: Catalog, ctx: CallContext, { id, accountId }: ClientDoc) {
  const principal = { accountId, keyId: id, scopes: [], limits: undefined };
  return auditEntry(
    catalog,
    { ...ctx, operation: undefined, principal },
    { rpc: 'registerClient', resourceId: id },
  );
}

const toClient = ({ clientId, name, redirectUris, dynamic, createdAt, expiresAt }: ClientDoc): Client => ({
  ...{ clientId, name, redirectUris, dynamic: dynamic === 1 },
  createdAt: new Date(createdAt),
  expiresAt: expiresAt === null ? undefined : new Date(expiresAt),
});
