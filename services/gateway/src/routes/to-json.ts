/** Messages → the JSON of the contract, for the whole gateway. */

import type {
  ConnectionSettings,
  Hub,
  Key,
  Node,
  Query,
  Source,
  Tls,
  Variable,
} from '@datahub/proto/catalog/v1/catalog';
import type { KeyLimits } from '@datahub/proto/common/v1/principal';
import type { Classifier } from '@datahub/proto/ml/v1/ml';

export const toTimestamp = (date: Date | undefined): string | null => date?.toISOString() ?? null;

export function toHubJson(hub: Hub | undefined) {
  if (hub === undefined) return {};
  return {
    hubId: hub.hubId,
    label: hub.label,
    archived: hub.archived ? 1 : 0,
    createdAt: toTimestamp(hub.createdAt),
    updatedAt: toTimestamp(hub.updatedAt),
  };
}

export interface NodeJson {
  hubId: string;
  nodeId: string;
  parentNodeId: string | null;
  nodeType: string;
  nodeSubType?: string;
  label: string;
  children: NodeJson[];
}

export function toNodeJson(node: Node, hubId: string): NodeJson {
  return {
    hubId,
    nodeId: node.nodeId,
    parentNodeId: node.parentNodeId ?? null,
    nodeType: node.nodeType,
    ...(node.nodeSubType === undefined ? {} : { nodeSubType: node.nodeSubType }),
    label: node.label,
    children: node.children.map((child) => toNodeJson(child, hubId)),
  };
}

export function toCreatedSourceJson(source: Source) {
  const { hubId, label, engine, sourceId, parentNodeId } = source;
  return { hubId, label, engine, sourceId, nodeId: sourceId, nodeType: 'source', parentNodeId };
}

export function toListedSourceJson(source: Source) {
  return {
    sourceId: source.sourceId,
    accountId: source.accountId,
    hubId: source.hubId,
    label: source.label,
    engine: source.engine,
    driver: null,
    connectionSettings: toSettingsJson(source.connectionSettings),
    createdAt: toTimestamp(source.createdAt),
    updatedAt: toTimestamp(source.updatedAt),
  };
}

export function toSourceJson(source: Source) {
  return {
    sourceId: source.sourceId,
    hubId: source.hubId,
    label: source.label,
    engine: source.engine,
    connectionSettings: toSettingsJson(source.connectionSettings),
    createdAt: toTimestamp(source.createdAt),
    updatedAt: toTimestamp(source.updatedAt),
    nodeType: 'source',
  };
}

/** Settings that were left at their defaults are not shown. */
function toSettingsJson(settings: ConnectionSettings = {}) {
  const { host, port, database, user, password, tls, pool, statementTimeoutMs, authSource } = settings;
  const { hosts, srv, replicaSet, readPreference, authMechanism } = settings;
  const hasPool = pool?.max !== undefined || pool?.idleTimeoutMs !== undefined;
  return {
    host,
    port,
    database,
    user,
    password,
    ...(tls && hasTls(tls) ? { tls } : {}),
    ...(hasPool ? { pool } : {}),
    ...(statementTimeoutMs === undefined ? {} : { statementTimeoutMs }),
    ...(authSource === undefined ? {} : { authSource }),
    ...(hosts === undefined ? {} : { hosts: hosts.hosts }),
    ...(srv === undefined ? {} : { srv }),
    ...(replicaSet === undefined ? {} : { replicaSet }),
    ...(readPreference === undefined ? {} : { readPreference }),
    ...(authMechanism === undefined ? {} : { authMechanism }),
  };
}

function hasTls(tls: Tls): boolean {
  return tls.mode !== 'prefer' || tls.ca !== undefined || tls.cert !== undefined || tls.key !== undefined;
}

/** `context` is the array of variables, or null in the answer to a creation. */
export function toQueryJson(query: Query, options: { created: boolean }) {
  return {
    meta: { engine: query.engine, hubId: query.hubId, label: query.label, parentNodeId: query.parentNodeId },
    config: {
      command: query.command,
      context: options.created ? null : query.context.map(toVariableJson),
      query: { queryId: query.queryId, query: query.query },
      source: { sourceId: query.sourceId, engine: query.engine },
    },
    ...(query.signatureJson === '' ? {} : { signature: rawJson(query.signatureJson) }),
  };
}

function toVariableJson(variable: Variable) {
  return {
    key: variable.key,
    ...(variable.valueJson === undefined ? {} : { value: rawJson(variable.valueJson) }),
    ...(variable.type === undefined ? {} : { type: variable.type }),
    ...(variable.required === undefined ? {} : { required: variable.required }),
    ...(variable.enumJson === undefined ? {} : { enum: rawJson(variable.enumJson) }),
    ...(variable.description === undefined ? {} : { description: variable.description }),
  };
}

/** JSON text that is printed as it is, so that no digit of a default is lost; arrays and objects are parsed leaf by leaf. */
function rawJson(text: string): unknown {
  const json = JSON as unknown as {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown;
    rawJSON(text: string): unknown;
  };
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? json.rawJSON(source) : value,
  );
}

export function toKeyJson(key: Key) {
  return {
    keyId: key.keyId,
    name: key.name,
    scopes: key.scopes,
    limits: toLimitsJson(key.limits),
    lastCharacters: key.lastCharacters,
    createdAt: toTimestamp(key.createdAt),
    expiresAt: toTimestamp(key.expiresAt),
    lastUsedAt: toTimestamp(key.lastUsedAt),
  };
}

export function toLimitsJson(limits: KeyLimits | undefined) {
  return {
    ...(limits?.hubIds.length ? { hubIds: limits.hubIds } : {}),
    ...(limits?.queryIds.length ? { queryIds: limits.queryIds } : {}),
    ...(limits?.origins.length ? { origins: limits.origins } : {}),
    ...(limits?.contextJson ? { context: rawJson(limits.contextJson) } : {}),
    ...(limits?.ratePerMinute === undefined ? {} : { ratePerMinute: limits.ratePerMinute }),
    ...(limits?.maxRows === undefined ? {} : { maxRows: limits.maxRows }),
    ...(limits?.strict ? { strict: true } : {}),
  };
}

export function toListedClassifierJson(classifier: Classifier) {
  return {
    classifierId: classifier.classifierId,
    name: classifier.name,
    createdAt: toTimestamp(classifier.createdAt),
    updatedAt: toTimestamp(classifier.updatedAt),
  };
}

export function toClassifierJson(classifier: Classifier) {
  return { ...toListedClassifierJson(classifier), classes: classifier.classes };
}
