/** The people who have signed in. */

import type { Complete } from '@datahub/contract/complete';
import { hubsOfPersonMax, roles } from '@datahub/contract/roles';
import type { Person, PersonSession } from '@datahub/proto/catalog/v1/people';
import type { FastifyRequest } from 'fastify';
import { expectedVersions } from '../../http/if-match.ts';
import {
  count,
  createdAtOf,
  type FromSchema,
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
import { readFlag } from '../../http/query-params.ts';
import { setVersion } from '../../http/request-context.ts';
import { type Handler, paged, type Route, required } from '../../http/route.ts';
import { sendList } from '../../response/list-response.ts';
import type { ResourceDeps } from '../resource-deps.ts';

export function peopleRoutes(deps: ResourceDeps): Route[] {
  const handlers = createPeopleHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'GET', path: '/v1/people', scope: 'keys:admin', summary: 'List the people who have signed in', query: paged, response: list(person), handler: handlers.list },
    { method: 'GET', path: '/v1/people/current', scope: undefined, summary: 'Get the person who is signed in, with roles and sessions', response: currentPerson, handler: handlers.current },
    { method: 'DELETE', path: '/v1/people/current/sessions', scope: undefined, summary: 'Sign the person of the request out everywhere', audit: 'by catalog', query: ['agents'], response: ended, handler: handlers.endOwn },
    { method: 'PUT', path: '/v1/people/:personId', scope: 'keys:admin', summary: 'Disable or enable a person', audit: 'by catalog', body: updateBody, versioned: true, response: person, handler: handlers.update },
    { method: 'DELETE', path: '/v1/people/:personId', scope: 'keys:admin', summary: 'Remove a person', audit: 'by catalog', versioned: true, response: nothing, handler: handlers.remove },
    { method: 'DELETE', path: '/v1/people/:personId/sessions', scope: 'keys:admin', summary: 'Sign a person out everywhere', audit: 'by catalog', query: ['agents'], response: ended, handler: handlers.end },
  ];
}

const paging = { limitDefault: 100, limitMax: 1_000 };

export const heldRole = record({
  role: { type: 'string', enum: roles },
  hubIds: { ...orNull(list(text)), description: 'Null for all hubs.' },
  hubsLeftOut: {
    ...count,
    description: `How many more hubs are granted by name than the ${hubsOfPersonMax} that count.`,
  },
});
const members = {
  personId: text,
  name: text,
  email: { ...textOrNull, description: 'Null if the provider has not verified it.' },
  issuer: text,
  subject: text,
  groups: list(text),
  state: {
    type: 'string',
    enum: ['active', 'paused', 'disabled'],
    description: 'Paused: the provider no longer knows the person, until the next sign-in.',
  },
  roles: list(heldRole),
  createdAt: time,
  signedInAt: time,
  groupsUntil: { ...time, description: 'When the groups no longer count, if the person does not sign in.' },
} as const;
const person = record(members);
const session = record({ sessionId: text, createdAt: time, expiresAt: time, lastUsedAt: time });
const currentPerson = record({ ...members, sessions: list(session) });
const ended = record({
  count,
  agentCount: { ...count, description: 'The agents that ended, with `agents=true`.' },
});
const updateBody = object({ disabled: { type: 'boolean' } }, ['disabled']);

type PersonJson = FromSchema<typeof person>;

const personIdOf = (request: FastifyRequest) => (request.params as { personId: string }).personId;

function createPeopleHandlers({ upstreams: { catalog }, settings }: ResourceDeps) {
  const end = async (request: FastifyRequest, personId: string | undefined) => {
    const agents = readFlag(request, 'agents');
    const { ended, agentsEnded } = await catalog.endSessions({ personId, agents }, request.context);
    return { count: ended, agentCount: agentsEnded };
  };
  return {
    list: async (request, reply) => {
      const page = readPage(request, paging);
      const { people, total } = await catalog.listPeople(page, request.context);
      return sendList(reply, { items: people, toJson: toPersonJson, page, total }, settings);
    },

    current: async ({ context }) => {
      const { person, sessions } = await catalog.getOwnPerson({}, context);
      return { ...toPersonJson(required(person)), sessions: sessions.map(toSessionJson) };
    },

    update: async (request, reply) => {
      const { disabled } = request.body as FromSchema<typeof updateBody>;
      const change = { personId: personIdOf(request), disabled, ...expectedVersions(request) };
      const { person } = await catalog.updatePerson(change, request.context);
      setVersion(reply, person?.version);
      return toPersonJson(required(person));
    },

    remove: async (request) => {
      const personId = personIdOf(request);
      await catalog.deletePerson({ personId, ...expectedVersions(request) }, request.context);
      return {};
    },

    end: (request) => end(request, personIdOf(request)),
    endOwn: (request) => end(request, undefined),
  } satisfies Record<string, Handler>;
}

function toPersonJson(one: Person): Complete<PersonJson> {
  const { personId, name, email = null, issuer, subject, groups, roles } = one;
  return {
    ...{ personId, name, email, issuer, subject, groups },
    state: one.state as PersonJson['state'],
    roles: roles.map(({ role, hubIds, hubsLeftOut }) => ({
      hubsLeftOut,
      role: role as PersonJson['roles'][number]['role'],
      hubIds: hubIds.length === 0 ? null : hubIds,
    })),
    createdAt: createdAtOf(one),
    signedInAt: toTimestamp(one.signedInAt) as string,
    groupsUntil: toTimestamp(one.confirmedUntil) as string,
  };
}

const toSessionJson = (one: PersonSession): FromSchema<typeof session> => ({
  sessionId: one.sessionId,
  createdAt: createdAtOf(one),
  expiresAt: toTimestamp(one.expiresAt) as string,
  lastUsedAt: toTimestamp(one.lastUsedAt) as string,
});
