/** The audit log of the caller's account. */

import type { AuditEntry } from '@datahub/proto/catalog/v1/catalog';
import {
  count,
  type FromSchema,
  list,
  record,
  text,
  textOrNull,
  time,
  toTimestamp,
} from '../http/json-schema.ts';
import { readPage } from '../http/pagination.ts';
import { readDay, readText } from '../http/query-params.ts';
import { type Handler, paged, type Route } from '../http/route.ts';
import { sendList } from '../response/list-response.ts';
import type { ResourceDeps } from './resource-deps.ts';

export function auditRoutes(deps: ResourceDeps): Route[] {
  // biome-ignore format: one line a route.
  return [
    { method: 'GET', path: '/v1/audit', scope: 'keys:admin', summary: 'List who did what', query: [...paged, 'resourceId', 'keyId', 'personId', 'action', 'day'], response: auditEntries, handler: createAuditHandler(deps) },
  ];
}

const paging = { limitDefault: 100, limitMax: 1_000 };

const auditEntry = record(
  {
    entryId: text,
    at: time,
    keyId: { ...text, description: 'The key, or the id of a person who was signed in.' },
    person: {
      ...record({ personId: text, name: textOrNull }),
      description:
        'The person who acted. Absent for keys of the hub. The name is null if the person was removed.',
    },
    action: text,
    resourceId: text,
    requestId: textOrNull,
    count,
    failed: count,
  },
  ['person'],
);
export const auditEntries = list(auditEntry);

function createAuditHandler({ upstreams: { catalog }, settings }: ResourceDeps): Handler {
  return async (request, reply) => {
    const page = readPage(request, paging);
    const filter = {
      resourceId: readText(request, 'resourceId'),
      keyId: readText(request, 'keyId'),
      action: readText(request, 'action'),
      personId: readText(request, 'personId'),
      day: readDay(request, 'day'),
    };
    const { entries, total } = await catalog.listAudit({ page, ...filter }, request.context);
    return sendList(reply, { items: entries, toJson: toAuditJson, page, total }, settings);
  };
}

function toAuditJson(entry: AuditEntry): FromSchema<typeof auditEntry> {
  const { entryId, at, keyId, personId, personName, action, resourceId, requestId, count, failed } = entry;
  return {
    entryId,
    at: toTimestamp(at) as string,
    keyId,
    ...(personId === undefined ? {} : { person: { personId, name: personName ?? null } }),
    action,
    resourceId,
    requestId: requestId === '' ? null : requestId,
    count,
    failed,
  };
}
