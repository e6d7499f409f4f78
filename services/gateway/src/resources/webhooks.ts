/** The `webhooks` of the OpenAPI document: what the hub sends to destinations, by the type of the event. */

import { comparingKinds, type EventType, eventTypes, runOutcomes } from '@datahub/contract/watches';
import { count, list, record, text, time } from '../http/json-schema.ts';

/** The members that are not in `needed` can be absent. */
const data = (members: Record<string, object>, optional: readonly string[] = []) => record(members, optional);

const watch = { watchId: text, label: text, path: text, queryId: text };
const run = {
  ...watch,
  runId: text,
  dueAt: time,
  outcome: { type: 'string', enum: runOutcomes },
  code: text,
  rowCount: count,
};
const counts = Object.fromEntries(comparingKinds.map((kind) => [kind, count]));
const rows = { rowsUrl: text, rows: list({ type: 'object' }), moreRows: { const: true } };
const ofRun = data({ ...run, ...counts, ...rows }, [
  ...['path', 'code', 'rowCount'],
  ...comparingKinds,
  ...Object.keys(rows),
]);
const query = { queryId: text, label: text, path: text, version: count };
const column = record({ name: text, change: { type: 'string', enum: ['added', 'removed', 'changed'] } });
const source = { sourceId: text, label: text };

const dataOf: Record<EventType, object> = {
  'watch.ran': ofRun,
  'watch.rows': ofRun,
  'watch.firing': ofRun,
  'watch.resolved': ofRun,
  'watch.failed': ofRun,
  'watch.paused': data({ ...watch, code: text, detail: text }, ['path']),
  'destination.disabled': data({ destinationId: text, label: text, detail: text }),
  'query.broken': data({ ...query, code: text, detail: text }, ['path']),
  'query.mended': data(query, ['path']),
  'query.drifted': data({ ...query, columns: list(column) }, ['path']),
  'query.published': data({ ...query, keyId: text }, ['path']),
  'source.unreachable': data({ ...source, code: text }),
  'source.reachable': data({ ...source, unreachableSince: time }),
  'key.expiring': data({ keyId: text, name: text, expiresAt: time }),
  'job.ended': data(
    {
      ...{ jobId: text, classifierId: text, queryId: text, trained: count, code: text },
      state: { type: 'string', enum: ['done', 'failed'] },
    },
    ['code'],
  ),
};

const header = (name: string, description: string) => ({
  ...{ name, in: 'header', required: true, description },
  schema: text,
});
const headers = [
  header('webhook-id', 'The id of the delivery, the same in each attempt.'),
  header('webhook-timestamp', 'When the attempt was made, in seconds since 1970.'),
  header('webhook-signature', 'One or two signatures `v1,…` (HMAC-SHA256, base64), separated by spaces.'),
];

/** The body of an event of this type. */
export const bodySchema = (type: EventType) =>
  record({ type: { const: type }, timestamp: time, data: dataOf[type] });

export const webhooks: Record<string, object> = Object.fromEntries(
  eventTypes.map((type) => [
    type,
    {
      post: {
        summary: `The event ${type}`,
        description:
          'Signed as Standard Webhooks 1.0 defines it. Destinations with a template get another body.',
        security: [],
        parameters: headers,
        requestBody: { required: true, content: { 'application/json': { schema: bodySchema(type) } } },
        responses: { '2XX': { description: 'The event has arrived' } },
      },
    },
  ]),
);
