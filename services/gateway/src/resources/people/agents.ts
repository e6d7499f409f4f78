/** The agents that act for the caller, or in the account, and the clients that an admin registered. */

import type { Complete } from '@datahub/contract/complete';
import { audiences, redirectUriBounds } from '@datahub/contract/people/oauth';
import type { Agent, Client } from '@datahub/proto/catalog/v1/agents';
import {
  createdAtOf,
  type FromSchema,
  label,
  list,
  nothing,
  object,
  orNull,
  record,
  text,
  textOrNull,
  time,
  toTimestamp,
} from '../../http/json-schema.ts';
import { readPage } from '../../http/pagination.ts';
import { type Handler, paged, type Route, required } from '../../http/route.ts';
import { sendList } from '../../response/list-response.ts';
import type { ResourceDeps } from '../resource-deps.ts';

export function agentRoutes(deps: ResourceDeps): Route[] {
  const handlers = createAgentHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'GET', path: '/v1/agents', scope: undefined, summary: 'List the agents that act for the caller; for whoever may do all in the account, all agents', query: paged, response: list(agent), handler: handlers.list },
    { method: 'DELETE', path: '/v1/agents/:agentId', scope: undefined, summary: 'Disconnect an agent', audit: 'by catalog', response: nothing, handler: handlers.remove },
    { method: 'POST', path: '/v1/clients', scope: 'keys:admin', summary: 'Register a client of agents; its secret is returned only here', audit: 'by catalog', body: clientBody, secretResponse: true, response: createdClient, handler: handlers.createClient },
    { method: 'GET', path: '/v1/clients', scope: 'keys:admin', summary: 'List registered clients of agents', query: paged, response: list(client), handler: handlers.listClients },
    { method: 'DELETE', path: '/v1/clients/:clientId', scope: 'keys:admin', summary: 'Delete a client, and disconnect its agents', audit: 'by catalog', response: nothing, handler: handlers.removeClient },
  ];
}

const paging = { limitDefault: 100, limitMax: 1_000 };

const agent = record({
  agentId: text,
  client: record({
    clientId: text,
    name: { ...text, description: 'As the client calls itself.' },
    host: { ...text, description: 'Where the client describes itself, or where its answers go.' },
  }),
  audience: { type: 'string', enum: audiences },
  scopes: list(text),
  hubIds: { ...orNull(list(text)), description: 'Null for all hubs.' },
  keyId: { ...text, description: 'The key or the person for whom it acts.' },
  person: {
    ...orNull(record({ personId: text, name: textOrNull })),
    description: 'Null for a key of the hub.',
  },
  createdAt: time,
  lastUsedAt: time,
  expiresAt: { ...time, description: 'When it ends if nobody uses it.' },
});

const { entries, length } = redirectUriBounds;
const uri = { type: 'string', minLength: length.min, maxLength: length.max } as const;
const clientBody = object(
  {
    name: label,
    redirectUris: { type: 'array', minItems: entries.min, maxItems: entries.max, items: uri },
  },
  ['name', 'redirectUris'],
);
const clientMembers = {
  clientId: text,
  name: text,
  redirectUris: list(text),
  dynamic: { type: 'boolean', description: 'True for a client that registered itself.' },
  createdAt: time,
  expiresAt: { ...orNull(time), description: 'When it is removed if nobody uses it. Null for never.' },
} as const;
const client = record(clientMembers);
const createdClient = record({
  ...clientMembers,
  clientSecret: { ...text, description: 'No other answer contains it.' },
});

type AgentJson = FromSchema<typeof agent>;
type ClientJson = FromSchema<typeof client>;

function createAgentHandlers({ upstreams: { catalog }, settings }: ResourceDeps) {
  return {
    list: async (request, reply) => {
      const page = readPage(request, paging);
      const { agents, total } = await catalog.listAgents(page, request.context);
      return sendList(reply, { items: agents, toJson: toAgentJson, page, total }, settings);
    },

    remove: async (request) => {
      const { agentId } = request.params as { agentId: string };
      await catalog.deleteAgent({ agentId }, request.context);
      return {};
    },

    createClient: async (request) => {
      const { name, redirectUris } = request.body as FromSchema<typeof clientBody>;
      const wanted = { name, redirectUris: [...redirectUris] };
      const { client, secret } = await catalog.createClient(wanted, request.context);
      const created = toClientJson(required(client));
      request.createdId = created.clientId;
      return { ...created, clientSecret: secret };
    },

    listClients: async (request, reply) => {
      const page = readPage(request, paging);
      const { clients, total } = await catalog.listClients(page, request.context);
      return sendList(reply, { items: clients, toJson: toClientJson, page, total }, settings);
    },

    removeClient: async (request) => {
      const { clientId } = request.params as { clientId: string };
      await catalog.deleteClient({ clientId }, request.context);
      return {};
    },
  } satisfies Record<string, Handler>;
}

const toAgentJson = (one: Agent): Complete<AgentJson> => ({
  agentId: one.agentId,
  client: { clientId: one.clientId, name: one.clientName, host: one.clientHost },
  audience: one.audience as AgentJson['audience'],
  scopes: one.scopes,
  hubIds: one.hubIds.length === 0 ? null : one.hubIds,
  keyId: one.keyId,
  person: one.personId === undefined ? null : { personId: one.personId, name: one.personName ?? null },
  createdAt: createdAtOf(one),
  lastUsedAt: toTimestamp(one.lastUsedAt) as string,
  expiresAt: toTimestamp(one.expiresAt) as string,
});

const toClientJson = (one: Client): Complete<ClientJson> => ({
  ...{ clientId: one.clientId, name: one.name, redirectUris: one.redirectUris, dynamic: one.dynamic },
  createdAt: createdAtOf(one),
  expiresAt: toTimestamp(one.expiresAt) ?? null,
});
