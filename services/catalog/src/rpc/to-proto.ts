/** Converts documents to messages. Only this file replaces secrets with masks. */

import type { Complete } from '@datahub/contract/complete';
import { fromFields, type KeyLimitValues } from '@datahub/contract/key-limits';
import type {
  ConnectionSettings,
  Folder,
  Hub,
  Key,
  Query,
  Source,
  Tls,
  Variable,
  VersionMark,
} from '@datahub/proto/catalog/v1/catalog';
import type { ResolvedQuery, ResolvedSource } from '@datahub/proto/catalog/v1/catalog_internal';
import type { KeyLimits } from '@datahub/proto/common/v1/principal';
import type { FolderDoc, HubDoc, KeyDoc, QueryDoc, SourceDoc, VariableDoc } from '../documents.ts';
import { toLimits } from '../key.ts';
import type { KeyState } from '../people/acting.ts';
import { stampOf } from '../query-version.ts';
import { shownLimits } from '../secret-variables/pinned-secrets.ts';
import { sshAddressOf } from '../source-settings/ssh.ts';
import { grantedNameOf } from './query-names/granted-name.ts';

const toDate = (ms: number | null) => (ms === null ? undefined : new Date(ms));

export function toHub(hub: HubDoc): Complete<Hub> {
  return {
    hubId: hub.id,
    label: hub.label,
    archived: hub.archived === 1,
    createdAt: toDate(hub.createdAt),
    updatedAt: toDate(hub.updatedAt),
    version: hub.version,
    path: hub.path,
  };
}

export function toFolder(folder: FolderDoc): Complete<Folder> {
  const { id, hubId, parentNodeId, nodeSubType, label, version } = folder;
  return { nodeId: id, hubId, parentNodeId, nodeSubType, label, version };
}

type Settings = Complete<ConnectionSettings>;

export function toSource(source: SourceDoc): Complete<Source> {
  const connectionSettings: Settings = {
    host: source.host,
    port: source.port,
    database: source.database,
    user: source.user.mask,
    password: source.password.mask,
    tls: { ...toTls(source), key: source.tls.key?.mask },
    ssh: source.ssh && {
      ...sshAddressOf(source.ssh),
      privateKey: source.ssh.privateKey?.mask,
      password: source.ssh.password?.mask,
    },
    ...toOptions(source),
  };
  return {
    sourceId: source.id,
    accountId: source.accountId,
    hubId: source.hubId,
    parentNodeId: source.parentNodeId,
    label: source.label,
    engine: source.engine,
    connectionSettings,
    createdAt: toDate(source.createdAt),
    updatedAt: toDate(source.updatedAt),
    version: source.version,
  };
}

/** The settings that a client and an executor receive alike. */
function toOptions(
  source: SourceDoc,
): Omit<Settings, 'host' | 'port' | 'database' | 'user' | 'password' | 'tls' | 'ssh'> {
  return {
    pool: source.pool,
    statementTimeoutMs: source.statementTimeoutMs ?? undefined,
    authSource: source.authSource,
    srv: source.srv,
    replicaSet: source.replicaSet,
    readPreference: source.readPreference,
    authMechanism: source.authMechanism,
    pooling: source.pooling,
    targetSessionAttrs: source.targetSessionAttrs,
    statementComments: source.statementComments,
    passwordFrom: source.passwordFrom,
    hosts: source.hosts && { hosts: source.hosts },
    sessionJson: source.sessionJson,
  };
}

function toTls({ tls }: SourceDoc): Omit<Complete<Tls>, 'key'> {
  return { mode: tls.mode, ca: tls.ca, cert: tls.cert };
}

type QueryState = Pick<Query, 'state' | 'problemJson' | 'driftJson'>;

export function toQuery(
  query: QueryDoc,
  signatureJson = '',
  { state, problemJson, driftJson }: QueryState = {},
): Complete<Query> {
  const { number, at, keyId } = stampOf(query);
  const latest: Complete<VersionMark> = { number, at: new Date(at), keyId };
  return {
    queryId: query.id,
    hubId: query.hubId,
    label: query.label,
    engine: query.engine,
    command: query.command,
    context: query.context.map(toVariable),
    query: query.query,
    sourceId: query.sourceId,
    parentNodeId: query.parentNodeId,
    createdAt: toDate(query.createdAt),
    updatedAt: toDate(query.updatedAt),
    version: query.version,
    signatureJson,
    cache: query.cache,
    notNull: query.notNull ?? [],
    errors: query.errors,
    sessionJson: query.sessionJson,
    transactionJson: query.transactionJson,
    keepValues: query.keepValues,
    path: query.path,
    tool: query.tool,
    presentationJson: query.presentationJson,
    state,
    problemJson,
    driftJson,
    latest,
  };
}

function toVariable(variable: VariableDoc): Complete<Variable> {
  const { key, valueJson, enumJson, type, required, description, secret } = variable;
  return { key, valueJson, enumJson, type, required, description, secret };
}

export function toResolvedQuery(query: QueryDoc, hub: HubDoc | undefined): Complete<ResolvedQuery> {
  return {
    queryId: query.id,
    accountId: query.accountId,
    hubId: query.hubId,
    command: query.command,
    query: query.query,
    context: query.context.map(toVariable),
    version: query.version,
    versionNumber: stampOf(query).number,
    cache: query.cache,
    notNull: query.notNull ?? [],
    errors: query.errors,
    sessionJson: query.sessionJson,
    transactionJson: query.transactionJson,
    keepValues: query.keepValues,
    path: query.path,
    hubPath: hub?.path,
    grantedName: hub && grantedNameOf(hub, query),
  };
}

export function toResolvedSource(source: SourceDoc): Complete<ResolvedSource> {
  return {
    sourceId: source.id,
    accountId: source.accountId,
    hubId: source.hubId,
    engine: source.engine,
    host: source.host,
    port: source.port,
    database: source.database,
    tls: toTls(source),
    sealed: {
      user: source.user.sealed,
      password: source.password.sealed,
      tlsKey: source.tls.key?.sealed ?? '',
      sshPrivateKey: source.ssh?.privateKey?.sealed,
      sshPassword: source.ssh?.password?.sealed,
    },
    ssh: source.ssh && { ...sshAddressOf(source.ssh), privateKey: undefined, password: undefined },
    ...toOptions(source),
    settingsVersion: String(source.settingsVersion),
    version: source.version,
  };
}

/** `madeBy`: the maker, as the caller sees it. */
export function toKey(key: KeyDoc, madeBy: KeyDoc['madeBy'], state: KeyState = 'active'): Complete<Key> {
  return {
    keyId: key.id,
    name: key.name,
    scopes: key.scopes,
    limits: toLimits(shownLimits(key)),
    lastCharacters: key.lastCharacters,
    createdAt: toDate(key.createdAt),
    expiresAt: toDate(key.expiresAt),
    lastUsedAt: toDate(key.lastUsedAt),
    version: key.version,
    state,
    isStronger: false,
    madeBy,
    personId: key.personId,
  };
}

/** Of a key that may do more than the caller's, only what tells it from others. */
export function toListed(
  key: KeyDoc,
  { isStronger, madeBy, state }: { isStronger: boolean; madeBy: KeyDoc['madeBy']; state: KeyState },
): Complete<Key> {
  if (!isStronger) return toKey(key, madeBy, state);
  return {
    keyId: key.id,
    name: key.name,
    state,
    isStronger,
    scopes: [],
    limits: undefined,
    lastCharacters: '',
    createdAt: undefined,
    expiresAt: undefined,
    lastUsedAt: undefined,
    version: 0,
    madeBy: undefined,
    personId: undefined,
  };
}

/** Converts the message to values for a new key. */
export const fromLimits: (limits: KeyLimits | undefined) => KeyLimitValues = fromFields;
