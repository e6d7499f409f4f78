/** Grants, which give roles to people and groups. */

import type { Complete } from '@datahub/contract/complete';
import { hubsOfPersonMax, roles } from '@datahub/contract/roles';
import type { PeopleGrant } from '@datahub/proto/catalog/v1/people';
import { expectedVersions } from '../../http/if-match.ts';
import {
  createdAtOf,
  type FromSchema,
  id,
  list,
  nothing,
  object,
  orNull,
  record,
  text,
  time,
} from '../../http/json-schema.ts';
import { readPage } from '../../http/pagination.ts';
import { type Handler, paged, type Route, required } from '../../http/route.ts';
import { sendList } from '../../response/list-response.ts';
import type { ResourceDeps } from '../resource-deps.ts';

export function grantRoutes(deps: ResourceDeps): Route[] {
  const handlers = createGrantHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/grants', scope: 'keys:admin', summary: 'Give a role to a person or a group', audit: 'by catalog', body: grantBody, response: grant, handler: handlers.create },
    { method: 'GET', path: '/v1/grants', scope: 'keys:admin', summary: 'List grants', query: paged, response: list(grant), handler: handlers.list },
    { method: 'DELETE', path: '/v1/grants/:grantId', scope: 'keys:admin', summary: 'Take a role away', audit: 'by catalog', versioned: true, response: nothing, handler: handlers.remove },
  ];
}

const paging = { limitDefault: 100, limitMax: 1_000 };
const named = { type: 'string', minLength: 1, maxLength: 500 } as const;
const whoOf = <const P extends object>(members: P) =>
  ({
    type: 'object',
    minProperties: 1,
    maxProperties: 1,
    additionalProperties: false,
    properties: members,
    description:
      'One of: a group of the provider, an e-mail address that the provider has verified, the subject of a person.',
  }) as const;
const role = { type: 'string', enum: roles } as const;

const grantBody = object(
  {
    who: whoOf({ group: named, email: named, subject: named }),
    role,
    hubIds: orNull({ type: 'array', minItems: 1, maxItems: hubsOfPersonMax, items: id } as const),
  },
  ['who', 'role'],
);
const grant = record({
  grantId: text,
  who: whoOf({ group: text, email: text, subject: text }),
  role,
  hubIds: { ...orNull(list(text)), description: 'Null for all hubs.' },
  createdAt: time,
});

type GrantJson = FromSchema<typeof grant>;

function createGrantHandlers({ upstreams: { catalog }, settings }: ResourceDeps) {
  return {
    create: async (request) => {
      const { who, role, hubIds } = request.body as FromSchema<typeof grantBody>;
      const [[kind, value] = ['', '']] = Object.entries(who);
      const wanted = { who: { kind, value: String(value) }, role, hubIds: [...(hubIds ?? [])] };
      const { grant } = await catalog.createGrant(wanted, request.context);
      const created = toGrantJson(required(grant));
      request.createdId = created.grantId;
      return created;
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const { grants, total } = await catalog.listGrants(page, request.context);
      return sendList(reply, { items: grants, toJson: toGrantJson, page, total }, settings);
    },

    remove: async (request) => {
      const { grantId } = request.params as { grantId: string };
      await catalog.deleteGrant({ grantId, ...expectedVersions(request) }, request.context);
      return {};
    },
  } satisfies Record<string, Handler>;
}

const toGrantJson = (one: PeopleGrant): Complete<GrantJson> => ({
  grantId: one.grantId,
  who: { [one.who?.kind ?? '']: one.who?.value },
  role: one.role as GrantJson['role'],
  hubIds: one.hubIds.length === 0 ? null : one.hubIds,
  createdAt: createdAtOf(one),
});
