/** Every route of `/v1` with its scope, body and answer. */

import type { AuditAction } from '@datahub/contract/audit-actions';
import type { Scope } from '@datahub/contract/scopes';
import type { AnswerSettings } from '../answers/streamed-answer.ts';
import { nothing, object } from '../http/json-schema.ts';
import { dataOptions } from '../http/query-form.ts';
import type { Handler } from '../http/request-context.ts';
import type { FieldPointers } from '../http/request-error.ts';
import type { Upstreams } from '../upstreams.ts';
import * as audit from './audit.ts';
import * as classifiers from './classifiers/classifiers.ts';
import { evaluation } from './classifiers/evaluation.ts';
import * as jobs from './classifiers/jobs.ts';
import * as examples from './classifiers/trained-examples.ts';
import { createHubDocumentHandler, document } from './documents/hub-document.ts';
import * as execute from './execute.ts';
import * as folders from './folders.ts';
import * as hubs from './hubs.ts';
import * as keys from './keys.ts';
import * as queryChecks from './queries/checks.ts';
import * as queries from './queries/queries.ts';
import * as statistics from './queries/statistics.ts';
import * as versions from './queries/versions.ts';
import * as sources from './sources.ts';
import * as summarize from './summarize.ts';

/** The body of routes that read no member. They refuse every member instead of ignoring it. */
const emptyBody = object({});

/** Who checks each scope: a route of the table below, or the executor, because only it knows whether a query writes. */
const neededBy = {
  'hubs:read': 'route',
  'hubs:write': 'route',
  'sources:read': 'route',
  'sources:write': 'route',
  'queries:read': 'route',
  'queries:write': 'route',
  'queries:execute': 'route',
  'queries:execute:write': 'executor',
  'classifiers:read': 'route',
  'classifiers:write': 'route',
  'classifiers:train': 'route',
  'classifiers:predict': 'route',
  'ai:summarize': 'route',
  'keys:admin': 'route',
} as const satisfies Record<Scope, 'route' | 'executor'>;
type RouteScope = Exclude<
  Scope,
  { [S in keyof typeof neededBy]: (typeof neededBy)[S] extends 'route' ? never : S }[keyof typeof neededBy]
>;

/**
 * How a route gets into the audit log: the gateway counts it as an action, the catalog writes an entry with the change,
 * or it is not audited. Every route besides GET must choose one.
 */
type Audited =
  | { method: 'GET'; audit?: AuditAction }
  | { method: 'POST' | 'PUT' | 'DELETE'; audit: AuditAction | 'by catalog' | 'not audited' };

/** The action under which the gateway counts a route; undefined if it does not count it. */
export function countedAs(route: Route): AuditAction | undefined {
  return route.audit === 'by catalog' || route.audit === 'not audited' ? undefined : route.audit;
}

export type Route = Audited & RouteMembers;

interface RouteMembers {
  url: string;
  /** Undefined if every key may call the route. */
  scope: RouteScope | undefined;
  summary: string;
  handler: Handler;
  /** The body of the answer with 200. */
  answer: object;
  body?: object;
  /** The complete schema, if the handler validates a part of the body itself. */
  documented?: object;
  /** True if the body can be left out. */
  bodyOptional?: boolean;
  /** Names of query parameters, for the documentation. */
  query?: string[];
  /** `If-Match` applies, for the documentation. */
  versioned?: boolean;
  /** True if the larger limit on bodies applies. */
  largeBody?: boolean;
  /** True if the answer can be compressed. Such an answer must have no secret, and no ETag for `If-Match`. */
  compressed?: boolean;
  /** True if the body can also be streamed as NDJSON or CSV. */
  imports?: boolean;
  /** True for a POST that changes nothing. */
  reads?: boolean;
  /** How a repeat determines a lost outcome; see `BeginOperationRequest.settling`. */
  settledBy?: 'audit' | 'repeat';
  /** True if the body names a query to execute. */
  executes?: boolean;
  /** Pointers into the body for fields of the call whose place differs there. */
  pointers?: (body: unknown) => FieldPointers;
  /** True if the answer has a secret, which is shown once and never stored. */
  secretAnswer?: boolean;
}

/** Every POST accepts an idempotency key. It has no effect if the route only reads. */
export const takesIdempotencyKey = ({ method }: Route): boolean => method === 'POST';

const paged = ['offset', 'limit'];

export function listRoutes(upstreams: Upstreams, settings: AnswerSettings): Route[] {
  const hub = hubs.createHubHandlers(upstreams);
  const describeHub = createHubDocumentHandler(upstreams);
  const folder = folders.createFolderHandlers(upstreams);
  const source = sources.createSourceHandlers(upstreams);
  const query = queries.createQueryHandlers(upstreams);
  const version = versions.createVersionHandlers(upstreams);
  const key = keys.createKeyHandlers(upstreams);
  const job = jobs.createJobHandlers(upstreams);
  const executeQuery = execute.createExecuteHandler(upstreams, settings);
  const statistic = statistics.createStatisticsHandlers(upstreams);
  const checkQuery = queryChecks.createCheckHandler(upstreams);
  const readData = execute.createDataHandler(upstreams, settings);
  const summarizeTexts = summarize.createSummarizeHandler(upstreams);
  const listAudit = audit.createAuditHandler(upstreams);

  // biome-ignore format: one line a route.
  return [
    { method: 'POST', url: '/v1/hubs', scope: 'hubs:write', summary: 'Create a hub', audit: 'by catalog', body: hubs.hubBody, settledBy: 'audit', answer: hubs.hub, handler: hub.create },
    { method: 'GET', url: '/v1/hubs', scope: 'hubs:read', summary: 'List hubs', query: [...paged, 'archived'], answer: hubs.hubs, handler: hub.list },
    { method: 'GET', url: '/v1/hubs/:hubId', scope: 'hubs:read', summary: 'Get a hub', answer: hubs.hub, handler: hub.get },
    { method: 'PUT', url: '/v1/hubs/:hubId', scope: 'hubs:write', summary: 'Rename a hub', audit: 'by catalog', body: hubs.hubBody, versioned: true, answer: nothing, handler: hub.update },
    { method: 'DELETE', url: '/v1/hubs/:hubId', scope: 'hubs:write', summary: 'Delete a hub', audit: 'by catalog', query: ['recursive'], versioned: true, answer: nothing, handler: hub.remove },
    { method: 'GET', url: '/v1/hubs/:hubId/contents', scope: 'hubs:read', summary: 'Get the tree of a hub', compressed: true, answer: hubs.node, handler: hub.contents },
    { method: 'GET', url: '/v1/hubs/:hubId/openapi.json', scope: 'queries:read', summary: 'Describe the queries of a hub in OpenAPI', query: paged, compressed: true, answer: document, handler: describeHub },
    { method: 'POST', url: '/v1/hubs/:hubId/archive', scope: 'hubs:write', summary: 'Archive a hub', audit: 'by catalog', body: emptyBody, bodyOptional: true, versioned: true, settledBy: 'audit', answer: hubs.hub, handler: hub.archive },
    { method: 'POST', url: '/v1/hubs/:hubId/unarchive', scope: 'hubs:write', summary: 'Bring a hub back', audit: 'by catalog', body: emptyBody, bodyOptional: true, versioned: true, settledBy: 'audit', answer: hubs.hub, handler: hub.unarchive },

    { method: 'POST', url: '/v1/hubs/:hubId/folders', scope: 'hubs:write', summary: 'Create a folder', audit: 'by catalog', body: folders.createFolderBody, settledBy: 'audit', answer: folders.folder, handler: folder.create },
    { method: 'PUT', url: '/v1/folders/:nodeId', scope: 'hubs:write', summary: 'Rename or move a folder', audit: 'by catalog', body: folders.updateFolderBody, versioned: true, answer: folders.folder, handler: folder.update },
    { method: 'DELETE', url: '/v1/folders/:nodeId', scope: 'hubs:write', summary: 'Delete an empty folder', audit: 'by catalog', versioned: true, answer: nothing, handler: folder.remove },

    { method: 'POST', url: '/v1/sources', scope: 'sources:write', summary: 'Create a source', audit: 'by catalog', body: sources.createSourceBody, settledBy: 'audit', answer: sources.createdSource, handler: source.create },
    { method: 'GET', url: '/v1/sources', scope: 'sources:read', summary: 'List the sources of a hub', query: ['hubId', ...paged], answer: sources.sources, handler: source.list },
    { method: 'GET', url: '/v1/sources/:sourceId', scope: 'sources:read', summary: 'Get a source', answer: sources.source, handler: source.get },
    { method: 'PUT', url: '/v1/sources/:sourceId', scope: 'sources:write', summary: 'Update a source', audit: 'by catalog', body: sources.updateSourceBody, versioned: true, answer: sources.source, handler: source.update },
    { method: 'DELETE', url: '/v1/sources/:sourceId', scope: 'sources:write', summary: 'Delete a source', audit: 'by catalog', versioned: true, answer: nothing, handler: source.remove },
    { method: 'POST', url: '/v1/sources/:sourceId/test', scope: 'sources:read', summary: 'Connect to a source', audit: 'not audited', body: emptyBody, bodyOptional: true, reads: true, answer: sources.sourceTest, handler: source.test },
    { method: 'GET', url: '/v1/sources/:sourceId/schema', scope: 'sources:read', summary: 'Read the tables of a source', compressed: true, answer: sources.sourceSchema, handler: source.schema },

    { method: 'POST', url: '/v1/queries', scope: 'queries:write', summary: 'Create a query', audit: 'by catalog', query: ['signature'], body: queries.createQueryBody, settledBy: 'audit', answer: queries.createdQuery, handler: query.create },
    { method: 'GET', url: '/v1/queries', scope: 'queries:read', summary: 'List the queries of a hub', query: ['hubId', ...paged], answer: queries.queries, handler: query.list },
    { method: 'POST', url: '/v1/queries/execute', scope: 'queries:execute', summary: 'Execute a query', audit: 'query.execute', body: execute.executeBody, executes: true, compressed: true, answer: execute.execution, handler: executeQuery },
    { method: 'POST', url: '/v1/queries/check', scope: 'queries:write', summary: 'Check a query that is not stored', audit: 'not audited', reads: true, body: queryChecks.checkBody, answer: queryChecks.checked, handler: checkQuery },
    { method: 'GET', url: '/v1/queries/:queryId/data', scope: 'queries:execute', summary: 'Execute a query that reads', audit: 'query.execute', query: [...dataOptions, 'variables'], pointers: execute.dataPointers, compressed: true, answer: execute.execution, handler: readData },
    { method: 'GET', url: '/v1/queries/:queryId', scope: 'queries:read', summary: 'Get a query', query: ['signature'], answer: queries.query, handler: query.get },
    { method: 'PUT', url: '/v1/queries/:queryId', scope: 'queries:write', summary: 'Update a query', audit: 'by catalog', query: ['signature'], body: queries.updateQueryBody, pointers: queries.updateQueryPointers, versioned: true, answer: queries.savedQuery, handler: query.update },
    { method: 'GET', url: '/v1/queries/:queryId/versions', scope: 'queries:read', summary: 'List the versions of a query', query: paged, answer: versions.versions, handler: version.list },
    { method: 'POST', url: '/v1/queries/:queryId/restore', scope: 'queries:write', summary: 'Restore a version of a query', audit: 'by catalog', query: ['signature'], body: versions.restoreBody, pointers: versions.restorePointers, versioned: true, settledBy: 'audit', answer: queries.savedQuery, handler: version.restore },
    { method: 'DELETE', url: '/v1/queries/:queryId', scope: 'queries:write', summary: 'Delete a query', audit: 'by catalog', versioned: true, answer: nothing, handler: query.remove },
    { method: 'GET', url: '/v1/queries/:queryId/stats', scope: 'queries:read', summary: 'Get the statistics of a query', answer: statistics.queryStatistics, handler: statistic.one },
    { method: 'GET', url: '/v1/queries/:queryId/usage', scope: 'queries:read', summary: 'Count the executions of a query by key and day', answer: statistics.queryUsage, handler: statistic.usage },
    { method: 'GET', url: '/v1/stats', scope: 'queries:read', summary: 'List the slowest or most failing queries', query: statistics.statisticsParameters, answer: statistics.statisticsList, handler: statistic.ranked },

    ...listClassifierRoutes(upstreams, settings),

    { method: 'GET', url: '/v1/jobs', scope: 'classifiers:train', summary: 'List the jobs, newest first', query: paged, answer: jobs.jobs, handler: job.list },
    { method: 'GET', url: '/v1/jobs/:jobId', scope: 'classifiers:train', summary: 'Get the progress of a job', answer: jobs.job, handler: job.get },
    { method: 'DELETE', url: '/v1/jobs/:jobId', scope: 'classifiers:train', summary: 'Stop a job and delete it', audit: 'job.delete', answer: nothing, handler: job.remove },

    { method: 'POST', url: '/v1/ai/summarize', scope: 'ai:summarize', summary: 'Summarize texts', audit: 'text.summarize', body: summarize.summarizeBody, documented: summarize.summarizeDocumented, pointers: summarize.summarizePointers, largeBody: true, reads: true, answer: summarize.summary, handler: summarizeTexts },

    { method: 'POST', url: '/v1/keys', scope: 'keys:admin', summary: 'Create a key', audit: 'by catalog', body: keys.createKeyBody, secretAnswer: true, settledBy: 'audit', answer: keys.createdKey, handler: key.create },
    { method: 'GET', url: '/v1/keys', scope: 'keys:admin', summary: 'List keys', query: paged, answer: keys.keys, handler: key.list },
    { method: 'GET', url: '/v1/keys/current', scope: undefined, summary: 'Get the id and scopes of the key of the request', answer: keys.currentKey, handler: key.current },
    { method: 'POST', url: '/v1/keys/:keyId/rotate', scope: 'keys:admin', summary: 'Replace a key', audit: 'by catalog', body: keys.rotateKeyBody, bodyOptional: true, secretAnswer: true, settledBy: 'audit', answer: keys.rotatedKey, handler: key.rotate },
    { method: 'DELETE', url: '/v1/keys/:keyId', scope: 'keys:admin', summary: 'Revoke a key', audit: 'by catalog', answer: nothing, handler: key.revoke },
    { method: 'GET', url: '/v1/audit', scope: 'keys:admin', summary: 'List who did what', query: [...paged, 'resourceId', 'keyId', 'action'], answer: audit.auditEntries, handler: listAudit },
  ];
}

function listClassifierRoutes(upstreams: Upstreams, settings: AnswerSettings): Route[] {
  const classifier = classifiers.createClassifierHandlers(upstreams, settings);
  const example = examples.createTrainedExampleHandlers(upstreams);

  // biome-ignore format: one line a route.
  return [
    { method: 'POST', url: '/v1/classifiers', scope: 'classifiers:write', summary: 'Create a classifier', audit: 'classifier.create', body: classifiers.createClassifierBody, bodyOptional: true, settledBy: 'repeat', answer: classifiers.createdClassifier, handler: classifier.create },
    { method: 'GET', url: '/v1/classifiers', scope: 'classifiers:read', summary: 'List classifiers', query: paged, answer: classifiers.classifiers, handler: classifier.list },
    { method: 'GET', url: '/v1/classifiers/:classifierId', scope: 'classifiers:read', summary: 'Get a classifier', answer: classifiers.classifier, handler: classifier.get },
    { method: 'PUT', url: '/v1/classifiers/:classifierId', scope: 'classifiers:write', summary: 'Rename a classifier', audit: 'classifier.update', body: classifiers.updateClassifierBody, versioned: true, answer: nothing, handler: classifier.update },
    { method: 'DELETE', url: '/v1/classifiers/:classifierId', scope: 'classifiers:write', summary: 'Delete a classifier', audit: 'classifier.delete', versioned: true, answer: nothing, handler: classifier.remove },
    { method: 'POST', url: '/v1/classifiers/:classifierId/train', scope: 'classifiers:train', summary: 'Train with examples', audit: 'classifier.train', imports: true, body: classifiers.trainBody, documented: classifiers.trainDocumented, pointers: classifiers.trainPointers, largeBody: true, settledBy: 'repeat', answer: classifiers.training, handler: classifier.train },
    { method: 'POST', url: '/v1/classifiers/:classifierId/predict', scope: 'classifiers:predict', summary: 'Predict a label', audit: 'classifier.predict', body: classifiers.predictBody, documented: classifiers.predictDocumented, pointers: classifiers.predictPointers, largeBody: true, reads: true, answer: classifiers.predictions, handler: classifier.predict },
    { method: 'DELETE', url: '/v1/classifiers/:classifierId/classes/:classId', scope: 'classifiers:write', summary: 'Delete a class', audit: 'class.delete', body: classifiers.deleteClassBody, bodyOptional: true, versioned: true, answer: nothing, handler: classifier.removeClass },
    { method: 'GET', url: '/v1/classifiers/:classifierId/evaluation', scope: 'classifiers:read', summary: 'Accuracy and calibration, in total and by class', answer: evaluation, handler: classifier.evaluation },
    { method: 'GET', url: '/v1/classifiers/:classifierId/examples', scope: 'classifiers:read', summary: 'List the examples of a classifier', query: ['after', 'limit', 'label'], pointers: examples.listPointers, answer: examples.trainedExamples, handler: example.list },
    { method: 'PUT', url: '/v1/classifiers/:classifierId/examples/:exampleId', scope: 'classifiers:train', summary: 'Correct an example', audit: 'example.update', body: examples.updateExampleBody, versioned: true, answer: examples.trainedExample, handler: example.update },
    { method: 'DELETE', url: '/v1/classifiers/:classifierId/examples/:exampleId', scope: 'classifiers:train', summary: 'Delete an example', audit: 'example.delete', versioned: true, answer: nothing, handler: example.remove },
  ];
}
