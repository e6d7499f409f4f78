/** What the hub says: a list that readers continue where they stopped. */

import { eventTypes } from '@datahub/contract/watches';
import type { Event } from '@datahub/proto/catalog/v1/watches';
import { list, record, text, textOrNull, time, toTimestamp } from '../../http/json-schema.ts';
import { readPage } from '../../http/pagination.ts';
import { readChoice, readFlag, readText } from '../../http/query-params.ts';
import { validationError } from '../../http/request-error.ts';
import type { Handler, Route } from '../../http/route.ts';
import { JsonText, writeJson } from '../../response/json-splices.ts';
import { ResponseBytes } from '../../response/response-bytes.ts';
import type { ResourceDeps } from '../resource-deps.ts';

export function eventRoutes(deps: ResourceDeps): Route[] {
  // biome-ignore format: one line a route.
  return [
    { method: 'GET', path: '/v1/events', scope: 'watches:read', summary: 'List events, oldest first, after the one that the caller has; or the last ones, newest first', query: ['after', 'newest', 'limit', 'hubId', 'type'], largeAnswer: true, response: events, handler: createEventsHandler(deps) },
  ];
}

const paging = { limitDefault: 100, limitMax: 500 };

/** Of an event that is kept, or that was removed because of its age. */
const eventIdPattern = /^[^.\s]+\.evt\.[0-9a-z]{30}$/;

const event = record({
  eventId: text,
  type: { type: 'string', enum: eventTypes },
  at: time,
  hubId: textOrNull,
  data: { type: 'object' },
});
const events = record({ events: list(event), after: textOrNull });

function createEventsHandler({ upstreams: { catalog }, settings }: ResourceDeps): Handler {
  return async (request, reply) => {
    const { limit = paging.limitDefault } = readPage(request, paging);
    const after = readText(request, 'after') ?? '';
    const newest = readFlag(request, 'newest');
    if (after !== '' && !eventIdPattern.test(after))
      throw validationError([{ pointer: 'query/after', detail: 'must be the id of an event' }]);
    if (newest && after !== '')
      throw validationError([{ pointer: 'query/after', detail: 'cannot be sent with newest' }]);
    const filter = { hubId: readText(request, 'hubId'), type: readChoice(request, 'type', eventTypes) };
    const found = await catalog.listEvents({ after, newest, limit, ...filter }, request.context);
    const bytes = new ResponseBytes(request, settings.responseBudget);
    let before = '{"events":[';
    for (const one of found.events) {
      await bytes.add(before + writeJson(toEventJson(one)));
      before = ',';
    }
    const last = found.events.at(newest ? 0 : -1)?.eventId ?? (after === '' ? null : after);
    await bytes.add(`${found.events.length === 0 ? before : ''}],"after":${JSON.stringify(last)}}`);
    return reply.header('content-type', 'application/json; charset=utf-8').send(bytes.end());
  };
}

function toEventJson({ eventId, type, at, hubId, dataJson }: Event) {
  return {
    eventId,
    type,
    at: toTimestamp(at),
    hubId: hubId ?? null,
    data: JsonText.of<object>(dataJson),
  };
}
