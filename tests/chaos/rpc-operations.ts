/** Every call between services that takes ids, for tests of ownership. */

import { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { CatalogInternalServiceService } from '@datahub/proto/catalog/v1/catalog_internal';
import { ExecutorServiceService } from '@datahub/proto/executor/v1/executor';
import { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { accessOf } from '../support/databases.ts';
import type { Method } from '../support/grpc.ts';

const { POSTGRES_URL } = process.env;
export type ServiceName = 'catalog' | 'internal' | 'executor' | 'ml';
export type Ids = Record<string, string>;

export const services = {
  catalog: CatalogServiceService,
  internal: CatalogInternalServiceService,
  executor: ExecutorServiceService,
  ml: MlServiceService,
} as unknown as Record<ServiceName, Record<string, Method>>;

export const label = 'x';
export const query = 'SELECT 1 AS one';
export const examples = [{ label: 'l', context: 'c' }];
export const connectionSettings = accessOf(POSTGRES_URL ?? 'postgres://none');
export const board = { label, cardsJson: '[]', valuesJson: '{}' };
export const source = { label, engine: 'postgres', connectionSettings };

/**
 * Every call with ids, in an order in which each finds the resources that it needs. `ids` are the members with ids: of
 * the resource with that name, or with the name after `=`. `rest` completes a request that passes all checks except
 * ownership.
 */
export const operations: [ServiceName, string, ids: string, rest?: object][] = [
  ['catalog', 'getHub', 'hubId'],
  ['catalog', 'updateHub', 'hubId', { label }],
  ['catalog', 'getHubContents', 'hubId'],
  ['catalog', 'createFolder', 'hubId parentNodeId=nodeId', { label }],
  ['catalog', 'updateFolder', 'nodeId', { label }],
  ['catalog', 'updateFolder', 'nodeId parentNodeId=queriesNodeId', { label }],
  ['catalog', 'createSource', 'hubId parentNodeId=sourcesNodeId', source],
  ['catalog', 'listSources', 'hubId'],
  ['catalog', 'getSource', 'sourceId'],
  ['catalog', 'updateSource', 'sourceId parentNodeId=sourcesNodeId', { label }],
  ['catalog', 'createQuery', 'hubId sourceId parentNodeId=nodeId', { label, query, notNull: [] }],
  ['catalog', 'listQueries', 'hubId'],
  ['catalog', 'getQuery', 'queryId', { signature: true }],
  ['catalog', 'getQueryUsage', 'queryId'],
  ['catalog', 'listQueryRuns', 'queryId', { own: false, offset: 0, limit: 10 }],
  ['catalog', 'createBoard', 'hubId', { settings: board }],
  ['catalog', 'listBoards', 'hubId', { offset: 0, limit: 10 }],
  ['catalog', 'getBoard', 'boardId'],
  ['catalog', 'updateBoard', 'boardId', { settings: board }],
  ['catalog', 'updateQuery', 'queryId sourceId parentNodeId=nodeId', { label }],
  ['catalog', 'listQueryVersions', 'queryId'],
  ['catalog', 'restoreQuery', 'queryId', { number: 1 }],
  ['internal', 'resolveQuery', 'queryId'],
  ['internal', 'resolveSource', 'sourceId'],
  ['internal', 'saveSignature', 'queryId', { version: 1, signatureJson: '{}', settingsVersion: '1' }],
  ['executor', 'execute', 'queryId', { contextJson: '{}', format: 1 }],
  ['internal', 'resolveDraft', 'sourceId', { query, notNull: [] }],
  ['executor', 'describeQuery', 'queryId'],
  ['executor', 'checkQuery', 'sourceId', { query, notNull: [] }],
  ['executor', 'testSource', 'sourceId'],
  ['executor', 'findCommit', 'sourceId', { server: '1/1', transactionId: '1' }],
  ['internal', 'noteSource', 'sourceId', { reachable: true }],
  ['internal', 'takeSourceCheck', 'sourceId'],
  ['executor', 'checkSource', 'sourceId'],
  ['executor', 'readSchema', 'sourceId'],
  ['ml', 'getClassifier', 'classifierId'],
  ['ml', 'train', 'classifierId', { examples, eventId: 'e' }],
  ['ml', 'predict', 'classifierId', { contexts: ['c'] }],
  ['ml', 'getEvaluation', 'classifierId'],
  ['ml', 'updateClassifier', 'classifierId', { name: label }],
  ['ml', 'listExamples', 'classifierId', { after: '' }],
  ['ml', 'updateExample', 'classifierId exampleId', { label }],
  ['ml', 'deleteExample', 'classifierId exampleId'],
  ['ml', 'startJob', 'classifierId', { queryId: 'q', contextJson: '' }],
  ['ml', 'getJob', 'jobId'],
  ['ml', 'deleteJob', 'jobId'],
  ['ml', 'deleteClass', 'classifierId classId'],
  ['ml', 'deleteClassifier', 'classifierId'],
  ['catalog', 'updateKey', 'keyId', { name: label, removedLimits: [] }],
  ['catalog', 'getKeyUsage', 'keyId'],
  ['catalog', 'rotateKey', 'keyId'],
  ['catalog', 'revokeKey', 'keyId'],
  ['catalog', 'deleteBoard', 'boardId'],
  ['catalog', 'deleteQuery', 'queryId'],
  ['catalog', 'deleteSource', 'sourceId'],
  ['catalog', 'deleteFolder', 'nodeId=emptyNodeId'],
  ['catalog', 'deleteHub', 'hubId', { recursive: true }],
];
