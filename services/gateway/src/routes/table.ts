/** Every route of `/v1`: what it is, what a key must allow for it, what its body looks like. */

import type { Scope } from '@datahub/contract/scopes';
import type { Idempotency } from '../http/idempotency.ts';
import type { Handler } from '../http/request-context.ts';
import type { Upstreams } from '../upstreams.ts';
import { createAuditHandler } from './audit.ts';
import {
  createClassifierBody,
  createClassifierHandlers,
  deleteClassBody,
  predictBody,
  predictDocumented,
  trainBody,
  trainDocumented,
} from './classifiers.ts';
import { createExecuteHandler, executeBody } from './execute.ts';
import { createFolderBody, createFolderHandlers, updateFolderBody } from './folders.ts';
import { createHubBody, createHubHandlers, updateHubBody } from './hubs.ts';
import { createKeyBody, createKeyHandlers, rotateKeyBody } from './keys.ts';
import { createQueryBody, createQueryHandlers, updateQueryBody } from './queries.ts';
import { object } from './request-schemas.ts';
import * as answers from './response-schemas.ts';
import { createSourceBody, createSourceHandlers, updateSourceBody } from './sources.ts';
import { createSummarizeHandler, summarizeBody, summarizeDocumented } from './summarize.ts';

/** Nothing is read of it, so nothing may stand in it: what it would ask for would be passed over in silence. */
const emptyBody = object({});

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  url: string;
  scope: Scope;
  summary: string;
  handler: Handler;
  /** What it answers with 200. */
  answer: object;
  body?: object;
  /** The same in full, where the handler looks at a part of the body by itself. */
  documented?: object;
  /** The body may be left out. */
  bodyOptional?: boolean;
  /** Names of members of the query string, for the documentation. */
  query?: string[];
  /** Changes a document at the version that `If-Match` names, for the documentation. */
  versioned?: boolean;
  /** Takes bodies of the larger bound. */
  largeBody?: boolean;
  /** A POST that changes nothing. */
  reads?: boolean;
  /** How it is found out whether it was carried out, where its answer was lost; see `BeginOperationRequest.settling`. */
  settledBy?: 'audit' | 'repeat';
  /** Its body names a query to be executed. */
  executes?: boolean;
  /** What the audit counts it as; changes in the catalog are recorded there. */
  counted?: string;
  /** The answer holds what is shown once and never kept. */
  secretAnswer?: boolean;
}

/** What creates or changes something may come with an idempotency key; what reads may as well, to no effect. */
export const takesIdempotencyKey = ({ method }: Route): boolean => method === 'POST';

export function listRoutes(
  upstreams: Upstreams,
  options: { stallTimeoutMs: number; idempotency: Idempotency },
): Route[] {
  const hubs = createHubHandlers(upstreams);
  const folders = createFolderHandlers(upstreams);
  const sources = createSourceHandlers(upstreams);
  const queries = createQueryHandlers(upstreams);
  const keys = createKeyHandlers(upstreams);
  const classifiers = createClassifierHandlers(upstreams);
  const execute = createExecuteHandler(upstreams, options);
  const summarize = createSummarizeHandler(upstreams);
  const audit = createAuditHandler(upstreams);
  const paged = ['offset', 'limit'];

  // biome-ignore format: one line a route.
  return [
    { method: 'POST', url: '/v1/hubs', scope: 'hubs:write', summary: 'Create a hub', body: createHubBody, settledBy: 'audit', answer: answers.hub, handler: hubs.create },
    { method: 'GET', url: '/v1/hubs', scope: 'hubs:read', summary: 'List hubs', query: [...paged, 'archived'], answer: answers.hubs, handler: hubs.list },
    { method: 'GET', url: '/v1/hubs/:hubId', scope: 'hubs:read', summary: 'Get a hub', answer: answers.hub, handler: hubs.get },
    { method: 'PUT', url: '/v1/hubs/:hubId', scope: 'hubs:write', summary: 'Rename a hub', body: updateHubBody, versioned: true, answer: answers.nothing, handler: hubs.update },
    { method: 'DELETE', url: '/v1/hubs/:hubId', scope: 'hubs:write', summary: 'Delete a hub', query: ['recursive'], versioned: true, answer: answers.nothing, handler: hubs.remove },
    { method: 'GET', url: '/v1/hubs/:hubId/contents', scope: 'hubs:read', summary: 'Get the tree of a hub', answer: answers.node, handler: hubs.contents },
    { method: 'POST', url: '/v1/hubs/:hubId/archive', scope: 'hubs:write', summary: 'Archive a hub', body: emptyBody, bodyOptional: true, versioned: true, settledBy: 'audit', answer: answers.hub, handler: hubs.archive },
    { method: 'POST', url: '/v1/hubs/:hubId/unarchive', scope: 'hubs:write', summary: 'Bring a hub back', body: emptyBody, bodyOptional: true, versioned: true, settledBy: 'audit', answer: answers.hub, handler: hubs.unarchive },

    { method: 'POST', url: '/v1/hubs/:hubId/folders', scope: 'hubs:write', summary: 'Create a folder', body: createFolderBody, settledBy: 'audit', answer: answers.folder, handler: folders.create },
    { method: 'PUT', url: '/v1/folders/:nodeId', scope: 'hubs:write', summary: 'Rename or move a folder', body: updateFolderBody, versioned: true, answer: answers.folder, handler: folders.update },
    { method: 'DELETE', url: '/v1/folders/:nodeId', scope: 'hubs:write', summary: 'Delete an empty folder', versioned: true, answer: answers.nothing, handler: folders.remove },

    { method: 'POST', url: '/v1/sources', scope: 'sources:write', summary: 'Create a source', body: createSourceBody, settledBy: 'audit', answer: answers.createdSource, handler: sources.create },
    { method: 'GET', url: '/v1/sources', scope: 'sources:read', summary: 'List the sources of a hub', query: ['hubId', ...paged], answer: answers.sources, handler: sources.list },
    { method: 'GET', url: '/v1/sources/:sourceId', scope: 'sources:read', summary: 'Get a source', answer: answers.source, handler: sources.get },
    { method: 'PUT', url: '/v1/sources/:sourceId', scope: 'sources:write', summary: 'Update a source', body: updateSourceBody, versioned: true, answer: answers.source, handler: sources.update },
    { method: 'DELETE', url: '/v1/sources/:sourceId', scope: 'sources:write', summary: 'Delete a source', versioned: true, answer: answers.nothing, handler: sources.remove },
    { method: 'POST', url: '/v1/sources/:sourceId/test', scope: 'sources:read', summary: 'Connect to a source', body: emptyBody, bodyOptional: true, reads: true, answer: answers.sourceTest, handler: sources.test },
    { method: 'GET', url: '/v1/sources/:sourceId/schema', scope: 'sources:read', summary: 'Read the tables of a source', answer: answers.sourceSchema, handler: sources.schema },

    { method: 'POST', url: '/v1/queries', scope: 'queries:write', summary: 'Create a query', body: createQueryBody, settledBy: 'audit', answer: answers.createdQuery, handler: queries.create },
    { method: 'GET', url: '/v1/queries', scope: 'queries:read', summary: 'List the queries of a hub', query: ['hubId', ...paged], answer: answers.queries, handler: queries.list },
    { method: 'POST', url: '/v1/queries/execute', scope: 'queries:execute', summary: 'Execute a query', body: executeBody, counted: 'query.execute', executes: true, answer: answers.execution, handler: execute },
    { method: 'GET', url: '/v1/queries/:queryId', scope: 'queries:read', summary: 'Get a query', query: ['signature'], answer: answers.query, handler: queries.get },
    { method: 'PUT', url: '/v1/queries/:queryId', scope: 'queries:write', summary: 'Update a query', body: updateQueryBody, versioned: true, answer: answers.nothing, handler: queries.update },
    { method: 'DELETE', url: '/v1/queries/:queryId', scope: 'queries:write', summary: 'Delete a query', versioned: true, answer: answers.nothing, handler: queries.remove },

    { method: 'POST', url: '/v1/classifiers', scope: 'classifiers:write', summary: 'Create a classifier', body: createClassifierBody, bodyOptional: true, counted: 'classifier.create', settledBy: 'repeat', answer: answers.createdClassifier, handler: classifiers.create },
    { method: 'GET', url: '/v1/classifiers', scope: 'classifiers:read', summary: 'List classifiers', query: paged, answer: answers.classifiers, handler: classifiers.list },
    { method: 'GET', url: '/v1/classifiers/:classifierId', scope: 'classifiers:read', summary: 'Get a classifier', answer: answers.classifier, handler: classifiers.get },
    { method: 'DELETE', url: '/v1/classifiers/:classifierId', scope: 'classifiers:write', summary: 'Delete a classifier', counted: 'classifier.delete', versioned: true, answer: answers.nothing, handler: classifiers.remove },
    { method: 'POST', url: '/v1/classifiers/:classifierId/train', scope: 'classifiers:train', summary: 'Train with an example', body: trainBody, documented: trainDocumented, largeBody: true, counted: 'classifier.train', settledBy: 'repeat', answer: answers.training, handler: classifiers.train },
    { method: 'POST', url: '/v1/classifiers/:classifierId/predict', scope: 'classifiers:predict', summary: 'Predict a label', body: predictBody, documented: predictDocumented, largeBody: true, counted: 'classifier.predict', reads: true, answer: answers.predictions, handler: classifiers.predict },
    { method: 'DELETE', url: '/v1/classifiers/:classifierId/classes/:classId', scope: 'classifiers:write', summary: 'Delete a class', body: deleteClassBody, bodyOptional: true, counted: 'class.delete', versioned: true, answer: answers.nothing, handler: classifiers.removeClass },
    { method: 'GET', url: '/v1/classifiers/:classifierId/evaluation', scope: 'classifiers:read', summary: 'Accuracy and calibration so far', answer: answers.evaluation, handler: classifiers.evaluation },

    { method: 'POST', url: '/v1/ai/summarize', scope: 'ai:summarize', summary: 'Summarize texts', body: summarizeBody, documented: summarizeDocumented, largeBody: true, counted: 'text.summarize', reads: true, answer: answers.summary, handler: summarize },

    { method: 'POST', url: '/v1/keys', scope: 'keys:admin', summary: 'Create a key', body: createKeyBody, secretAnswer: true, settledBy: 'audit', answer: answers.createdKey, handler: keys.create },
    { method: 'GET', url: '/v1/keys', scope: 'keys:admin', summary: 'List keys', query: paged, answer: answers.keys, handler: keys.list },
    { method: 'POST', url: '/v1/keys/:keyId/rotate', scope: 'keys:admin', summary: 'Replace a key', body: rotateKeyBody, bodyOptional: true, secretAnswer: true, settledBy: 'audit', answer: answers.rotatedKey, handler: keys.rotate },
    { method: 'DELETE', url: '/v1/keys/:keyId', scope: 'keys:admin', summary: 'Revoke a key', answer: answers.nothing, handler: keys.revoke },
    { method: 'GET', url: '/v1/audit', scope: 'keys:admin', summary: 'List who did what', query: [...paged, 'resourceId', 'keyId', 'action'], answer: answers.audit, handler: audit },
  ];
}
