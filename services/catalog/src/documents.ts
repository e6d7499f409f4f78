/** The documents of the catalog. Each names its parent; trees are derived from them and not stored. */

import type { EngineName } from '@datahub/contract/engines';
import type { KeyLimitValues } from '@datahub/contract/key-limits';
import type { PasswordFrom } from '@datahub/contract/password-from';
import type { SshAddress, TlsMode } from '@datahub/contract/source-settings';
import type { Doc } from '@datahub/document-store';

export interface Dated {
  /** Milliseconds since 1970. */
  createdAt: number;
  updatedAt: number | null;
}

export interface AccountDoc extends Doc {
  /** A unique name. The first start creates the account `first`. */
  name: string;
  createdAt: number;
  /** Of the account `first`: when the keys were logged that older hubs gave more. */
  withheldLoggedAt?: number;
  /** Of the account `first`: the hashes of the keys that DATAHUB_API_KEY gave it, the newest last. */
  givenKeys?: string[];
  /** Of the account `first`: when values of secret variables were removed from the boards of older hubs. */
  secretsRemovedAt?: number;
  /** Of the account `first`, if catalog and ml are in one hub: ml has a store. */
  hasMl?: 1;
}

export interface HubDoc extends Doc, Dated {
  label: string;
  /** 0 or 1. */
  archived: number;
  /** 1 for a tombstone, else 0. Callers cannot see a tombstone's hub and contents. */
  deleting: number;
  /**
   * The audit entry of the deletion, in a tombstone of a hub that is deleted only if it is empty. It is written once the
   * hub is known to be empty; until then a sweep must not delete what is in the hub.
   */
  deleted?: AuditDoc;
  /** The path of such a hub, which others may take during the deletion. */
  deletedPath?: string;
  /** Unique in the account; absent for none. */
  path?: string;
  /** Present if a caller gave the path that may create keys for the whole account; see `grantedNameOf`. */
  grantsByName?: 1;
  /** The two category nodes, which are created with the hub. */
  queriesNodeId: string;
  sourcesNodeId: string;
}

export type NodeSubType = 'queries' | 'sources';

export interface FolderDoc extends Doc, Dated {
  hubId: string;
  parentNodeId: string;
  nodeSubType: NodeSubType;
  label: string;
  /** 1 while a deletion checks that the folder is empty. Meanwhile nothing can be created in it. */
  deleting: number;
}

/** An encrypted value that only the executor can decrypt, and the mask that callers see instead. */
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
  /** The database that the user is defined in; MongoDB only. */
  authSource?: string;
  /** Further servers besides `host`; PostgreSQL and MongoDB. */
  hosts?: { host: string; port: number }[];
  /** MongoDB only, like the members up to `authMechanism`. */
  srv?: true;
  replicaSet?: string;
  readPreference?: string;
  authMechanism?: string;
  /** PostgreSQL only, like `targetSessionAttrs`. */
  pooling?: string;
  targetSessionAttrs?: string;
  statementComments?: string;
  /** JSON text of what is set for each transaction; PostgreSQL only. */
  sessionJson?: string;
  /** Provides the password; the stored password is then empty. Not for MongoDB. */
  passwordFrom?: PasswordFrom;
  /** The bastion that the source is reached through, with one of the secrets. */
  ssh?: SshAddress & { privateKey?: Secret; password?: Secret };
  /** The version of the last change to a setting that connections depend on. */
  settingsVersion: number;
  /** 1 from before a change of the engine looks for bound queries. A query that is bound meanwhile removes it. */
  changesEngine?: 1;
}

export interface VariableDoc {
  key: string;
  /** JSON text, so that no digit is lost. */
  valueJson?: string;
  enumJson?: string;
  type?: string;
  required?: boolean;
  description?: string;
  secret?: boolean;
}

export interface CacheDoc {
  maxAgeS: number;
  staleS?: number;
  /** The text of a SELECT. */
  validate?: string;
}

export interface ToolDoc {
  name?: string;
  description: string;
}

export interface QueryDoc extends Doc, Dated {
  hubId: string;
  parentNodeId: string;
  label: string;
  sourceId: string;
  /** The engine of the bound source, or of the last one that was bound. */
  engine: EngineName;
  command: string;
  query: string;
  context: VariableDoc[];
  /** If absent, answers are not cached. */
  cache?: CacheDoc;
  /** Columns that are asserted to have no NULL; absent for none. */
  notNull?: string[];
  /** If present, errors of the query contain the texts of RAISE and SIGNAL. */
  errors?: 'author';
  /** JSON text of what the query adds to the session of its source. */
  sessionJson?: string;
  /** JSON text of a `StoredTransaction`. `query` and `command` follow from it. */
  transactionJson?: string;
  /** If present, the records of runs have the values of the variables. */
  keepValues?: true;
  /** Unique in the hub; absent for none. Like the members up to `presentationJson`, it is no part of a version. */
  path?: string;
  /** Present if a caller gave the path that may create keys for the query; see `grantedNameOf`. */
  grantsByName?: 1;
  /** If absent, the query is not a tool. */
  tool?: ToolDoc;
  /** The name of the tool, unique in the account; absent for none. */
  toolName?: string;
  /** Present if `tool` is, so that the tools of an account can be found. */
  isTool?: 1;
  /** JSON text of an object. */
  presentationJson?: string;
  /** Absent if an older hub wrote the query. */
  stamp?: VersionStamp;
}

/** Says which version of a query a document is. */
export interface VersionStamp {
  /** The version of the document that made this version of the query. A move leaves it. */
  number: number;
  at: number;
  keyId: string;
  /** The number of the version that this one restored. */
  restoredFrom?: number;
  /** The version of the document with this stamp. If it differs, an older hub changed the query since. */
  docVersion: number;
}

/** An older version of a query: a copy that was made before a change. */
export interface QueryVersionDoc extends Doc {
  hubId: string;
  query: QueryDoc;
  /** The size of the copy. */
  bytes: number;
}

export interface RateBudgetDoc {
  id: string;
  perMinute?: number;
}

export interface KeyDoc extends Doc {
  /** SHA-256 of the key in hexadecimal. The key itself is not stored. */
  hash: string;
  name: string;
  scopes: string[];
  limits: KeyLimitValues;
  /** The pinned variables whose values no answer has. Absent if the key pins none, and in keys of older hubs. */
  secretPins?: string[];
  /** Present if `limits.queries` has names, so that such keys can be found. */
  namesQueries?: 1;
  /** The rate budgets that the key's requests count against, oldest first. If absent, the key has one of its own. */
  budgets?: RateBudgetDoc[];
  /** The lineage of the key that created this one; see `lineageOf`. Absent for keys of operators and of older hubs. */
  maker?: string;
  /** The key that created this one, or that created the key that this one replaced. Absent like `maker`. */
  madeBy?: { keyId: string; name: string };
  /** The person with whom the key ends; absent for a key of the hub. */
  personId?: string;
  /** The id of the budget with the key's own rate: of the key that it replaced. If absent, it is the id of the key. */
  ownBudget?: string;
  lastCharacters: string;
  createdAt: number;
  expiresAt: number | null;
  /** Set by a rotation: the key that was made, and when this one would have expired without it. */
  successor?: { keyId: string; expiresAt: number | null };
  lastUsedAt: number | null;
}

/** A page of cards. The catalog does not read its cards and values. */
export interface BoardDoc extends Doc, Dated {
  hubId: string;
  label: string;
  /** Unique among the boards of the hub; absent for none. */
  path?: string;
  cardsJson: string;
  valuesJson: string;
  refreshMinutes?: number;
}

/** The record of one execution of a query. */
export interface QueryRunDoc extends Doc {
  queryId: string;
  /** The key and the signed-in user; see `callerOf`. */
  caller: string;
  /** 0 or 1. */
  failed: number;
  at: number;
  keyId: string;
  /** The subject of the signed-in user. */
  user?: string;
  queryVersion: number;
  form: string;
  /** Of the error. */
  code?: string;
  rows: number;
  cached: boolean;
  dryRun?: true;
  queueMs?: number;
  databaseMs?: number;
  totalMs?: number;
  /** JSON text of the values that the call sent; absent if the query kept none. */
  valuesJson?: string;
}

/** The signature of a query, as its source described it. It has the id of the query. */
export interface SignatureDoc extends Doc {
  hubId: string;
  /** The version of the query that was described. */
  queryVersion: number;
  /** The settings version of the source that described the query. */
  settingsVersion: string;
  signatureJson: string;
  /** The number of the version that was described; absent in documents of older hubs, like the members below. */
  number?: number;
  /** `broken` if the source rejected the query, `drifted` if its columns are others than at first. */
  state?: 'broken' | 'drifted';
  problemJson?: string;
  /** The signature that this version had first. */
  firstJson?: string;
  driftJson?: string;
}

/** Says when the queries of a source were last checked. It has the id of the source. */
export interface SourceCheckDoc extends Doc {
  hubId: string;
  takenAt: number;
  /** Absent if the last connection opened. */
  unreachableSince?: number;
}

/** Where the settings of a source have logged in. It has the id of the source. */
export interface SourceLoginDoc extends Doc {
  hubId: string;
  settingsVersion: string;
  /** Digests of address, port and user. */
  logins: string[];
}

/** The replica that grants slots. There is one such document, of no account. */
export interface SlotOwnerDoc extends Doc {
  owner: string | null;
  /** Executors that may hold slots. */
  executors: string[];
  /** Of those, the ones whose streams have ended, as that of a killed one does. Documents of older releases have none. */
  lost?: string[];
  /** False while the owner waits for executors of the former one. Documents of older releases do not say. */
  settled?: boolean;
}

/**
 * An audit entry: which key did what to which document. Counted actions have one entry for each hour, key, action and
 * document, and later one for each day, see use-counts.ts.
 */
export interface AuditDoc extends Doc {
  at: number;
  keyId: string;
  /** The person who acted; absent if a key of the hub did. */
  personId?: string;
  action: string;
  resourceId: string;
  requestId: string;
  count: number;
  failed: number;
  /** A sketch of the signed-in users in base64; absent if there were none. */
  users?: string;
  /** 1 if it counts uses; absent for a change, and in entries of older releases. */
  counted?: 1;
  /** Of a counted hour: when it is added to the entry of its day. */
  joinsAt?: number;
  /** Of a counted day: the hours that it contains, one bit for each. */
  hours?: number;
}

/** The number of a key's requests, or of failed log-ins at a server, in one minute. */
export interface WindowDoc extends Doc {
  taken: number;
  expiresAt: number;
}

/** The record of an operation with an idempotency key. */
export interface OperationDoc extends Doc {
  /** HMAC of the body in hexadecimal, with the API key as its key. */
  bodyMac: string;
  /** Absent if an older hub wrote the record. */
  keyId?: string;
  /** A digest of what the caller of the last start could do where; absent if an older hub wrote the record. */
  rights?: string;
  /** 1 until the outcome is known, then 0. */
  open: number;
  status: number;
  contentType: string;
  answer?: Uint8Array;
  /** The ETag of the answer, if it had one. */
  etag?: string;
  kept: boolean;
  note: string;
  /** 1 if the operation has ended with an unknown outcome. */
  unknown?: number;
  /** Bytes that count against the account. */
  size: number;
  createdAt: number;
  /** The time of the last start. A repeat may start the operation again if it was not carried out. */
  begunAt: number;
  /** The longest that the operation can run; absent if an older hub wrote the record. */
  longestMs?: number;
  /** Names the last start; empty or absent if an older gateway made it. */
  attempt?: string;
  /** Set before COMMIT is sent, until the outcome is known. */
  commit?: CommitDoc;
  expiresAt: number;
}

/** The transaction of an operation. If it has committed, `answer` of the operation is the answer. */
export interface CommitDoc {
  sourceId: string;
  /** The identifier and the timeline of the server. */
  server: string;
  transactionId: string;
  contentType: string;
}
