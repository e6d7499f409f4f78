/** Who did what in the caller's account. */

import type { AuditEntry } from '@datahub/proto/catalog/v1/catalog';
import { readPage, setPageHeaders } from '../http/pagination.ts';
import { readText } from '../http/query-params.ts';
import type { Handler } from '../http/request-context.ts';
import type { Upstreams } from '../upstreams.ts';
import { toTimestamp } from './to-json.ts';

const paging = { limitDefault: 100, limitMax: 1_000 };

export function createAuditHandler({ catalog }: Upstreams): Handler {
  return async (request, reply) => {
    const page = readPage(request, paging);
    const filter = {
      resourceId: readText(request, 'resourceId'),
      keyId: readText(request, 'keyId'),
      action: readText(request, 'action'),
    };
    const { entries, total } = await catalog.listAudit({ page, ...filter }, request.context);
    setPageHeaders(reply, page, total);
    return entries.map(toAuditJson);
  };
}

function toAuditJson({ entryId, at, requestId, ...entry }: AuditEntry) {
  const { action, resourceId, keyId, count, failed } = entry;
  return {
    entryId,
    at: toTimestamp(at),
    keyId,
    action,
    resourceId,
    requestId: requestId === '' ? null : requestId,
    count,
    failed,
  };
}
