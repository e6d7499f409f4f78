/** The RPCs of agents: a person or a key consents to one, sees those that act for it, and ends them. */

import {
  type Audience,
  agentHubsMax,
  agentScopes,
  audiences,
  cliClient,
  codeChallengePattern,
  faultOfRedirectUri,
} from '@datahub/contract/people/oauth';
import { withScope } from '@datahub/contract/roles';
import { isConfined } from '@datahub/contract/withheld';
import type { Agent, CreateAgentRequest } from '@datahub/proto/catalog/v1/agents';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { isIdOf } from '@datahub/service-kit/id';
import { endOldestAgents, makeAgent } from '../../agents/agent.ts';
import type { AgentDoc } from '../../agents/documents.ts';
import { type Catalog, loadHub, notFound } from '../../catalog.ts';
import { createChecker } from '../../check.ts';
import { listPage } from '../../pagination.ts';
import { auditEntry } from '../audit.ts';

const textLength = { min: 1, max: 500 };

export function createAgentCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    createAgent: async (request, ctx) => {
      const principal = requirePrincipal(ctx);
      const { accountId, keyId, person } = principal;
      requireOwner(principal);
      const { clientId, clientName, clientHost, redirectUri, codeChallenge, scopes, hubIds } = request;
      const audience = checkConsent(request);
      for (const hubId of hubIds) await loadHub(catalog, widest(principal), hubId);
      const nowMs = catalog.nowMs();
      const consent = {
        ...{ id: catalog.createId('agnt', nowMs), accountId, clientId, clientName, clientHost, audience },
        ...{ scopes, ...(hubIds.length === 0 ? {} : { hubIds: [...new Set(hubIds)] }), keyId },
        ...(person === undefined ? {} : { personId: person.id }),
        code: { challenge: codeChallenge, redirectUri },
      };
      const { doc, code } = makeAgent(consent, nowMs);
      using _room = await catalog.quota.requireRoom(store.agents, doc, 'agents');
      await store.agents.insert(doc, auditEntry(catalog, ctx, { rpc: 'createAgent', resourceId: doc.id }));
      await endOldestAgents(catalog, doc);
      return { code };
    },

    listAgents: async (page, ctx) => {
      const principal = requirePrincipal(ctx);
      const { accountId, keyId } = principal;
      const where: Record<string, string> = isAdmin(principal) ? {} : { keyId };
      const { docs, total } = await listPage(store.agents, { accountId, where }, page);
      const people = new Map<string, string>();
      for (const id of new Set(docs.flatMap(({ personId }) => personId ?? []))) {
        const person = await store.people.get(accountId, id);
        if (person !== null) people.set(id, person.name);
      }
      return { agents: docs.map((doc) => toAgent(doc, people)), total };
    },

    deleteAgent: async ({ agentId }, ctx) => {
      const principal = requirePrincipal(ctx);
      const { accountId, keyId } = principal;
      const agent = await store.agents.get(accountId, agentId);
      if (agent === null || (agent.keyId !== keyId && !isAdmin(principal))) throw notFound('agent');
      const companion = auditEntry(catalog, ctx, { rpc: 'deleteAgent', resourceId: agentId });
      if (!(await store.agents.delete(accountId, agentId, { companion }))) throw notFound('agent');
      return {};
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

/** An agent acts for a key or a person of the hub, who is there when it acts. */
function requireOwner({ keyId, limits }: Principal): void {
  if (limits?.user !== undefined)
    throw new HubError('SCOPE_DENIED', 'A key for signed-in users cannot connect an agent.');
  if (!isIdOf('key', keyId) && !isIdOf('prsn', keyId))
    throw new HubError('SCOPE_DENIED', 'Only a key or a person of the hub can connect an agent.');
}

function checkConsent(request: CreateAgentRequest): Audience {
  const check = createChecker();
  const audience = check.oneOf(['audience'], request.audience, audiences);
  check.text(['clientId'], request.clientId, textLength);
  check.text(['clientName'], request.clientName, textLength);
  check.text(['clientHost'], request.clientHost, textLength);
  const fault = faultOfRedirectUri(request.redirectUri);
  if (fault !== undefined) check.fault(['redirectUri'], fault);
  if (!codeChallengePattern.test(request.codeChallenge)) check.fault(['codeChallenge'], 'must be of S256');
  const isCli = request.clientId === cliClient.clientId;
  if ((audience === 'api') !== isCli) check.fault(['audience'], 'is not that of the client');
  const known: readonly string[] = isCli ? ['*'] : agentScopes;
  if (request.scopes.length === 0 || !request.scopes.every((scope) => known.includes(scope)))
    check.fault(['scopes'], `must be of ${known.join(', ')}`);
  if (!isCli && (request.hubIds.length === 0 || request.hubIds.length > agentHubsMax))
    check.fault(['hubIds'], `must have 1 to ${agentHubsMax} hubs`);
  check.done();
  return audience;
}

/** With the grant of the most hubs. */
const widest = (principal: Principal): Principal => ({
  ...principal,
  limits: principal.person?.grants[0]?.limits ?? principal.limits,
});

/** Whoever may do all in the whole account may end what acts for others. */
function isAdmin(principal: Principal): boolean {
  const acting = withScope(principal, 'keys:admin');
  return acting?.scopes.includes('*') === true && !isConfined(acting.limits ?? {});
}

function toAgent(agent: AgentDoc, people: ReadonlyMap<string, string>): Agent {
  const { id, clientId, clientName, clientHost, audience, scopes, hubIds = [], keyId, personId } = agent;
  return {
    ...{ agentId: id, clientId, clientName, clientHost, audience, scopes, hubIds, keyId, personId },
    personName: people.get(personId ?? ''),
    createdAt: new Date(agent.createdAt),
    lastUsedAt: new Date(agent.lastUsedAt),
    expiresAt: new Date(agent.expiresAt),
  };
}
