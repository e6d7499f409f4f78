/** The RPCs that exchange codes and refresh tokens of agents. Whoever calls them proves who it is by what it sends. */

import { createHash } from 'node:crypto';
import { cliClient } from '@datahub/contract/people/oauth';
import type { CompanionWrite } from '@datahub/document-store';
import type { IssueTokensRequest, IssueTokensResponse } from '@datahub/proto/catalog/v1/agents';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { CallContext, Calls } from '@datahub/service-kit/call/call';
import { isKeyRefusal } from '@datahub/service-kit/call/error';
import { findByAnyToken, findByToken, isDigestOf, principalOfAgent, withTokens } from '../../agents/agent.ts';
import type { AgentDoc, ClientDoc } from '../../agents/documents.ts';
import { type Catalog, overtaken, untilWritten } from '../../catalog.ts';
import { addUse, hourlyUse } from '../../usage/use-counts.ts';
import { auditEntry } from '../audit.ts';
import { findClient } from './clients.ts';

/** How long a client that registered itself is kept after its last use. */
const clientKeptMs = 90 * 86_400_000;
const clientRenewedMs = 60 * 86_400_000;

type Refusal = 'invalid_client' | 'invalid_grant' | 'invalid_target';

export function createTokenCalls(catalog: Catalog) {
  return {
    issueTokens: (request, ctx) => untilWritten(() => issue(catalog, ctx, request)),

    revokeToken: async ({ token, ...client }, ctx) => {
      const agent = await findByAnyToken(catalog, token);
      // Also for a token that is gone already (RFC 7009).
      if (agent === undefined) return { error: '' };
      if (agent.clientId !== client.clientId || !(await isClient(catalog, client))) {
        await noteRefusal(catalog, agent);
        return { error: 'invalid_client' };
      }
      await end(catalog, agent, entryOf(catalog, ctx, { rpc: 'revokeToken', agent }));
      return { error: '' };
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

async function issue(
  catalog: Catalog,
  ctx: CallContext,
  request: IssueTokensRequest,
): Promise<IssueTokensResponse | typeof overtaken> {
  const found = await findByToken(catalog, request.token);
  if (found === undefined) return { ...refused('invalid_grant'), unknown: true };
  const { agent, handle, secret } = found;
  const nowMs = catalog.nowMs();
  if (!(await isClient(catalog, request)) || agent.clientId !== request.clientId) {
    await noteRefusal(catalog, agent);
    return refused('invalid_client');
  }
  const isUsed = !isDigestOf(agent.secretHash, secret) || (agent.code === undefined) !== request.refresh;
  if (isUsed || agent.expiresAt <= nowMs || !isRequestOf(agent, request)) {
    // Somebody else may have it, so what it gave ends.
    await end(catalog, agent, entryOf(catalog, ctx, { rpc: 'issueTokens', agent }));
    return refused('invalid_grant');
  }
  if (request.audience !== undefined && request.audience !== agent.audience) {
    await noteRefusal(catalog, agent);
    return refused('invalid_target');
  }
  try {
    await principalOfAgent(catalog, agent);
  } catch (err) {
    if (!isKeyRefusal(err)) throw err;
    await noteRefusal(catalog, agent);
    return refused('invalid_grant');
  }
  const { doc, tokens } = withTokens(agent, { handle, nowMs });
  if (!(await catalog.store.agents.replace(doc))) return overtaken;
  await renewClient(catalog, request.clientId, nowMs);
  return { error: '', unknown: false, ...tokens, scopes: agent.scopes };
}

const refused = (error: Refusal): IssueTokensResponse => ({
  ...{ error, unknown: false, accessToken: '', refreshToken: '', expiresInS: 0, scopes: [] },
});

/** False for a code that was issued to another request. */
function isRequestOf({ code }: AgentDoc, request: IssueTokensRequest): boolean {
  if (code === undefined) return true;
  const challenge = createHash('sha256').update(request.codeVerifier).digest('base64url');
  return code.challenge === challenge && code.redirectUri === request.redirectUri;
}

/** Clients by a metadata document have an address as id, and no secret. */
async function isClient(
  catalog: Catalog,
  { clientId, clientSecret }: { clientId: string; clientSecret?: string | undefined },
): Promise<boolean> {
  if (clientId === cliClient.clientId || clientId.startsWith('https://')) return clientSecret === undefined;
  const client = await findClient(catalog, clientId);
  if (client === null) return false;
  const { secretHash } = client;
  if (secretHash === undefined || clientSecret === undefined) return secretHash === clientSecret;
  return isDigestOf(secretHash, clientSecret);
}

/** Resolves also if another call has ended it: it is gone. */
async function end(
  { store }: Catalog,
  { accountId, id }: AgentDoc,
  companion: CompanionWrite,
): Promise<void> {
  await store.agents.delete(accountId, id, { companion });
}

const ownerOf = ({ accountId, keyId, personId }: AgentDoc) => ({
  ...{ accountId, keyId, scopes: [], limits: undefined },
  person: personId === undefined ? undefined : { id: personId, grants: [] },
});

function entryOf(
  catalog: Catalog,
  ctx: CallContext,
  { rpc, agent }: { rpc: 'issueTokens' | 'revokeToken'; agent: AgentDoc },
): CompanionWrite {
  const acting = { ...ctx, operation: undefined, principal: ownerOf(agent) };
  return auditEntry(catalog, acting, { rpc, resourceId: agent.id });
}

/** Counted, because a client may try again and again. */
async function noteRefusal(catalog: Catalog, { accountId, keyId, personId, id }: AgentDoc): Promise<void> {
  const by = { accountId, keyId, ...(personId === undefined ? {} : { personId }) };
  const use = { ...by, action: 'agent.refuse', resourceId: id, requestId: '', count: 1, failed: 1 };
  await addUse(catalog, hourlyUse(catalog, use));
}

/** A client that registered itself stays while it is used. */
async function renewClient(catalog: Catalog, clientId: string, nowMs: number): Promise<void> {
  const client: ClientDoc | null = await findClient(catalog, clientId);
  if (client === null || client.expiresAt === null || client.expiresAt > nowMs + clientRenewedMs) return;
  const renewed = { ...client, expiresAt: nowMs + clientKeptMs, version: client.version + 1 };
  // Without a retry, because a concurrent call writes the same.
  await catalog.store.clients.replace(renewed).catch(() => false);
}
