/** The documents of the catalog. Each names its parent, so trees are derived and never stored. */

import type { EngineName } from '@datahub/contract/engines';
import type { KeyLimitValues } from '@datahub/contract/key-limits';
import type { PasswordFrom } from '@datahub/contract/password-from';
import type { TlsMode } from '@datahub/contract/source-settings';
import type { Doc } from '@datahub/document-store';

interface Dated {
  /** Milliseconds since 1970. */
  createdAt: number;
  updatedAt: number | null;
}

export interface AccountDoc extends Doc {
  /** Unique; `first` is the one that the first start makes. */
  name: string;
  createdAt: number;
}

export interface HubDoc extends Doc, Dated {
  label: string;
  /** 0 or 1. */
  archived: number;
  /** 1 for a tombstone: callers see neither the hub nor its contents, and a sweep deletes them. Else 0. */
  deleting: number;
  /** Of a tombstone: the entry of the audit that is written when it goes. */
  deleted?: AuditDoc;
  /** The two category nodes, made with the hub. */
  queriesNodeId: string;
  sourcesNodeId: string;
}

export type NodeSubType = 'queries' | 'sources';

export interface FolderDoc extends Doc, Dated {
  hubId: string;
  parentNodeId: string;
  nodeSubType: NodeSubType;
  label: string;
  /** 1 while a deletion checks that it is empty; nothing can be created in it meanwhile. */
  deleting: number;
}

/** An envelope that only the executor opens, and what callers are shown in its place. */
export interface Secret {
  sealed: string;
  mask: string;
}

export interface SourceDoc extends Doc, Dated {
  hubId: string;
  parentNodeId: string;
  label: string;
  engine: EngineName;
  host: string;
  port: number;
  database: string;
  user: Secret;
  password: Secret;
  tls: { mode: TlsMode; ca?: string; cert?: string; key?: Secret };
  pool: { max?: number; idleTimeoutMs?: number };
  statementTimeoutMs: number | null;
  /** The database that knows the user; MongoDB only. */
  authSource?: string;
  /** Further servers beside `host`; PostgreSQL and MongoDB. */
  hosts?: { host: string; port: number }[];
  /** MongoDB only, as all up to `authMechanism`. */
  srv?: true;
  replicaSet?: string;
  readPreference?: string;
  authMechanism?: string;
  /** PostgreSQL only, as `targetSessionAttrs`. */
  pooling?: string;
  targetSessionAttrs?: string;
  /** What provides the password; then the stored one is empty. Not for MongoDB. */
  passwordFrom?: PasswordFrom;
  /** The version at which anything changed that connections are made from. */
  settingsVersion: number;
}

export interface VariableDoc {
  key: string;
  /** JSON texts, so that no digit is lost. */
  valueJson?: string;
  enumJson?: string;
  type?: string;
  required?: boolean;
  description?: string;
}

export interface CacheDoc {
  maxAgeS: number;
  staleS?: number;
  /** The text of a SELECT. */
  validate?: string;
}

export interface QueryDoc extends Doc, Dated {
  hubId: string;
  parentNodeId: string;
  label: string;
  sourceId: string;
  /** Of the bound source, or the last one. */
  engine: EngineName;
  command: string;
  query: string;
  context: VariableDoc[];
  /** Absent: answers are not kept. */
  cache?: CacheDoc;
  /** Columns that are asserted to have no NULL; absent for none. */
  notNull?: string[];
}

export interface RateBudgetDoc {
  id: string;
  perMinute?: number;
}

export interface KeyDoc extends Doc {
  /** SHA-256 of the key in hexadecimal: the key itself is nowhere. */
  hash: string;
  name: string;
  scopes: string[];
  limits: KeyLimitValues;
  /** The request budgets it draws on, the oldest first; absent: one of its own. */
  budgets?: RateBudgetDoc[];
  lastCharacters: string;
  createdAt: number;
  expiresAt: number | null;
  lastUsedAt: number | null;
}

/** What a source said of a query; its id is the query's. */
export interface SignatureDoc extends Doc {
  hubId: string;
  /** The version of the query that was described. */
  queryVersion: number;
  /** Of the source that described it. */
  settingsVersion: string;
  signatureJson: string;
}

/** An audit entry: which key did what to which document. Counted actions have one entry per hour, key, action and document. */
export interface AuditDoc extends Doc {
  at: number;
  keyId: string;
  action: string;
  resourceId: string;
  requestId: string;
  count: number;
  failed: number;
}

/** How many requests of a key were taken in one minute. */
export interface WindowDoc extends Doc {
  taken: number;
  expiresAt: number;
}

/** What is known of an operation that was asked for with an idempotency key. */
export interface OperationDoc extends Doc {
  /** HMAC of the body in hexadecimal. */
  bodyMac: string;
  /** 1 until it is known how it ended. */
  open: number;
  status: number;
  contentType: string;
  answer?: Uint8Array;
  /** Of the answer, where it had one. */
  etag?: string;
  kept: boolean;
  note: string;
  /** 1 where it has ended and nobody knows how. */
  unknown?: number;
  /** Bytes that count against the account. */
  size: number;
  createdAt: number;
  /** When it was begun the last time; a repeat may begin it again where it was not carried out. */
  begunAt: number;
  expiresAt: number;
}
