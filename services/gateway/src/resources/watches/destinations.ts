/** Destinations of events, and their deliveries. */

import type { Complete } from '@datahub/contract/complete';
import { rotationOverlapSeconds } from '@datahub/contract/limits';
import { eventTypes } from '@datahub/contract/watches';
import type { Delivery, Destination, DestinationSettings } from '@datahub/proto/catalog/v1/watches';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { expectedVersions } from '../../http/if-match.ts';
import {
  count,
  createdAtOf,
  type FromSchema,
  id,
  label,
  list,
  nothing,
  object,
  orNull,
  readOnly,
  record,
  text,
  textOrNull,
  time,
  timeOrNull,
  toTimestamp,
} from '../../http/json-schema.ts';
import { readPage } from '../../http/pagination.ts';
import { readText } from '../../http/query-params.ts';
import { setVersion } from '../../http/request-context.ts';
import { emptyBody, type Handler, paged, type Route, required } from '../../http/route.ts';
import { toInstant } from '../../http/validation.ts';
import { sendList } from '../../response/list-response.ts';
import type { ResourceDeps } from '../resource-deps.ts';

export function destinationRoutes(deps: ResourceDeps): Route[] {
  const handlers = createDestinationHandlers(deps);
  const deliveriesOf = createDeliveryHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/destinations', scope: 'destinations:write', summary: 'Create a destination', audit: 'by catalog', body: destinationBody, secretResponse: true, response: createdDestination, handler: handlers.create },
    { method: 'GET', path: '/v1/destinations', scope: 'watches:read', summary: 'List destinations', query: paged, response: destinations, handler: handlers.list },
    { method: 'GET', path: '/v1/destinations/:destinationId', scope: 'watches:read', summary: 'Get a destination', response: destination, handler: handlers.get },
    { method: 'PUT', path: '/v1/destinations/:destinationId', scope: 'destinations:write', summary: 'Update a destination', audit: 'by catalog', body: destinationBody, versioned: true, response: destination, handler: handlers.update },
    { method: 'DELETE', path: '/v1/destinations/:destinationId', scope: 'destinations:write', summary: 'Delete a destination', audit: 'by catalog', versioned: true, response: nothing, handler: handlers.remove },
    { method: 'POST', path: '/v1/destinations/:destinationId/rotate', scope: 'destinations:write', summary: 'Replace the secret of a destination', audit: 'by catalog', body: rotateBody, bodyOptional: true, secretResponse: true, response: newSecret, handler: handlers.rotate },
    { method: 'POST', path: '/v1/destinations/:destinationId/test', scope: 'destinations:write', summary: 'Send a test to a destination', audit: 'by catalog', body: emptyBody, bodyOptional: true, settledBy: 'audit', response: delivery, handler: deliveriesOf.test },
    { method: 'POST', path: '/v1/destinations/:destinationId/redeliver', scope: 'destinations:write', summary: 'Send all failed deliveries of a destination again', audit: 'not audited', body: redeliverBody, bodyOptional: true, settledBy: 'repeat', response: redelivered, handler: deliveriesOf.redeliverAll },
    { method: 'GET', path: '/v1/deliveries', scope: 'destinations:write', summary: 'List deliveries, newest first', query: [...paged, 'destinationId', 'state'], response: deliveries, handler: deliveriesOf.list },
    { method: 'POST', path: '/v1/deliveries/:deliveryId/redeliver', scope: 'destinations:write', summary: 'Send a delivery again', audit: 'not audited', body: emptyBody, bodyOptional: true, settledBy: 'repeat', response: redelivered, handler: deliveriesOf.redeliver },
  ];
}

const paging = { limitDefault: 50, limitMax: 200 };
const templates = ['slack'] as const;

const destinationBody = object(
  {
    label,
    url: { type: 'string', minLength: 1, maxLength: 2_000 },
    mailTo: { type: 'string', minLength: 3, maxLength: 320 },
    template: orNull({ type: 'string', enum: [...templates, null] } as const),
    hubIds: orNull({ type: 'array', minItems: 1, maxItems: 200, items: id } as const),
    events: { type: 'array', maxItems: eventTypes.length, items: { type: 'string', enum: eventTypes } },
    disabled: { type: 'boolean' },
    ...readOnly('destinationId', 'confirmedAt', 'disabledBecause', 'failingSince', 'createdAt', 'updatedAt'),
  },
  ['label'],
);
const rotateBody = object({
  overlapSeconds: { type: 'integer', minimum: 0, maximum: rotationOverlapSeconds.max },
});
const redeliverBody = object({ since: { type: 'string', maxLength: 40 } });
const redelivered = record({ count });

/** Without `destinations:write`, the address and the events are left out. */
const destination = record(
  {
    destinationId: text,
    label: text,
    kind: { type: 'string', enum: ['webhook', 'mail'] },
    url: text,
    mailTo: text,
    confirmedAt: timeOrNull,
    template: textOrNull,
    hubIds: orNull({ type: 'array', items: text } as const),
    events: list(text),
    disabled: { type: 'boolean' },
    disabledBecause: textOrNull,
    failingSince: timeOrNull,
    createdAt: time,
    updatedAt: timeOrNull,
  },
  [
    ...(['url', 'mailTo', 'confirmedAt', 'template', 'hubIds', 'events'] as const),
    ...(['disabledBecause', 'failingSince', 'createdAt', 'updatedAt'] as const),
  ],
);
const destinations = list(destination);
const newSecret = record({ secret: text });
/** Mail has no secret. */
const createdDestination = record({ destinationId: text, secret: text }, ['secret']);

const delivery = record({
  deliveryId: text,
  destinationId: text,
  eventId: textOrNull,
  type: text,
  state: { type: 'string', enum: ['pending', 'delivered', 'failed'] },
  attempts: count,
  nextAt: timeOrNull,
  status: orNull({ type: 'integer' } as const),
  error: textOrNull,
  durationMs: orNull({ type: 'integer' } as const),
  createdAt: time,
  endedAt: timeOrNull,
});
const deliveries = list(delivery);

type Body = FromSchema<typeof destinationBody>;
type DestinationJson = FromSchema<typeof destination>;
type DeliveryJson = FromSchema<typeof delivery>;

const destinationIdOf = (request: FastifyRequest) =>
  (request.params as { destinationId: string }).destinationId;

function createDestinationHandlers({ upstreams: { catalog }, settings }: ResourceDeps) {
  return {
    create: async (request, reply: FastifyReply) => {
      const created = await catalog.createDestination({ settings: toSettings(request) }, request.context);
      const { destinationId, version } = required(created.destination);
      request.createdId = destinationId;
      setVersion(reply, version);
      const isMail = created.destination?.settings?.mailTo !== undefined;
      return isMail ? { destinationId } : { destinationId, secret: created.secret };
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const found = await catalog.listDestinations(page, request.context);
      const toJson = (one: Destination) => toDestinationJson(one, one.whole);
      return sendList(reply, { items: found.destinations, toJson, page, total: found.total }, settings);
    },

    get: async (request, reply) => {
      const destinationId = destinationIdOf(request);
      const { destination } = await catalog.getDestination({ destinationId }, request.context);
      setVersion(reply, destination?.version);
      const found = required(destination);
      return toDestinationJson(found, found.whole);
    },

    update: async (request, reply) => {
      const { destination } = await catalog.updateDestination(
        {
          destinationId: destinationIdOf(request),
          settings: toSettings(request),
          ...expectedVersions(request),
        },
        request.context,
      );
      setVersion(reply, destination?.version);
      return toDestinationJson(required(destination), true);
    },

    remove: async (request) => {
      const destinationId = destinationIdOf(request);
      await catalog.deleteDestination({ destinationId, ...expectedVersions(request) }, request.context);
      return {};
    },

    rotate: async (request) => {
      const { overlapSeconds } = (request.body ?? {}) as FromSchema<typeof rotateBody>;
      const destinationId = destinationIdOf(request);
      return catalog.rotateDestinationSecret({ destinationId, overlapSeconds }, request.context);
    },
  } satisfies Record<string, Handler>;
}

function createDeliveryHandlers({ upstreams: { catalog }, settings }: ResourceDeps) {
  return {
    test: async (request) => {
      const destinationId = destinationIdOf(request);
      const { delivery } = await catalog.testDestination({ destinationId }, request.context);
      return toDeliveryJson(required(delivery));
    },

    redeliverAll: async (request) => {
      const { since } = (request.body ?? {}) as FromSchema<typeof redeliverBody>;
      const from = toInstant(since, '/since');
      const destinationId = destinationIdOf(request);
      return catalog.redeliver({ destinationId, since: from, deliveryId: undefined }, request.context);
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const filter = { destinationId: readText(request, 'destinationId'), state: readText(request, 'state') };
      const found = await catalog.listDeliveries({ ...filter, ...page }, request.context);
      return sendList(
        reply,
        { items: found.deliveries, toJson: toDeliveryJson, page, total: found.total },
        settings,
      );
    },

    redeliver: async (request) => {
      const { deliveryId } = request.params as { deliveryId: string };
      return catalog.redeliver({ deliveryId, destinationId: undefined, since: undefined }, request.context);
    },
  } satisfies Record<string, Handler>;
}

function toSettings(request: FastifyRequest): Complete<DestinationSettings> {
  const { label, url = '', mailTo, template, hubIds, events, disabled } = request.body as Body;
  return {
    label,
    url,
    mailTo,
    template: template ?? undefined,
    hubIds: [...(hubIds ?? [])],
    events: [...(events ?? [])],
    disabled: disabled ?? false,
  };
}

function toDestinationJson(one: Destination, whole: boolean): DestinationJson {
  const { label, url, mailTo, template, hubIds, events, disabled } = one.settings as DestinationSettings;
  const kind = mailTo === undefined ? 'webhook' : 'mail';
  const short = { destinationId: one.destinationId, label, kind, disabled } as const;
  if (!whole) return short;
  const place = mailTo === undefined ? { url } : { mailTo, confirmedAt: toTimestamp(one.confirmedAt) };
  return {
    ...short,
    ...place,
    template: template ?? null,
    hubIds: hubIds.length === 0 ? null : hubIds,
    events,
    disabledBecause: one.disabledBecause ?? null,
    failingSince: toTimestamp(one.failingSince),
    createdAt: createdAtOf(one),
    updatedAt: toTimestamp(one.updatedAt),
  };
}

function toDeliveryJson(one: Delivery): Complete<DeliveryJson> {
  return {
    deliveryId: one.deliveryId,
    destinationId: one.destinationId,
    eventId: one.eventId ?? null,
    type: one.type,
    state: one.state as DeliveryJson['state'],
    attempts: one.attempts,
    nextAt: toTimestamp(one.nextAt),
    status: one.status ?? null,
    error: one.error ?? null,
    durationMs: one.durationMs ?? null,
    createdAt: createdAtOf(one),
    endedAt: toTimestamp(one.endedAt),
  };
}
