/** The shapes of the REST API that the console reads. */

import type { TextServerSetting } from '@datahub/contract/source-settings';

export interface Problem {
  status: number;
  code?: string;
  title?: string;
  detail?: string;
  stage?: string;
  requestId?: string;
  retryable?: boolean;
  errors?: { pointer: string; detail: string }[];
  sql?: { state?: string; line?: number; column?: number };
}

export interface Hub {
  hubId: string;
  label: string;
  archived: 0 | 1;
  createdAt: string;
}

export type NodeType = 'root' | 'category' | 'folder' | 'source' | 'query';

export interface TreeNode {
  nodeId: string;
  parentNodeId: string | null;
  nodeType: NodeType;
  nodeSubType?: string;
  label: string;
  children: TreeNode[];
}

export interface Variable {
  key: string;
  type?: string;
  value?: unknown;
  required?: boolean;
  enum?: unknown[];
  description?: string;
}

export interface Column {
  name: string;
  type: string;
  nullable?: boolean;
}

export interface Signature {
  columns: Column[];
  variables: { key: string; type?: string; list?: boolean; nullable?: boolean }[];
  problem?: { code?: string; detail?: string; sql?: Problem['sql'] };
}

export interface CachePolicy {
  maxAgeS: number;
  staleS?: number;
  /** SQL. If its row is the same as before, so is the result. */
  validate?: string;
}

export interface Query {
  meta: { engine: string; hubId: string; label: string; parentNodeId?: string };
  config: {
    command: string;
    context: Variable[] | null;
    cache?: CachePolicy | null;
    notNull?: string[];
    query: { queryId: string; query: string };
    source: { sourceId: string; engine: string };
  };
  signature?: Signature | null;
}

/** What a query was after a change. */
export interface QueryVersion {
  number: number;
  at: string;
  keyId: string | null;
  restoredFrom?: number;
  label: string;
  text: string;
  command: string;
  context: Variable[];
  sourceId: string;
  engine: string;
  cache?: CachePolicy;
  notNull?: string[];
}

export interface TlsSettings {
  mode?: string;
  ca?: string | null;
  cert?: string | null;
  key?: string | null;
}

export interface Host {
  host: string;
  port: number;
}

export interface ConnectionSettings extends Partial<Record<TextServerSetting, string>> {
  host: string;
  port: number;
  database: string;
  user: string;
  password: string;
  tls?: TlsSettings;
  pool?: { max?: number; idleTimeoutMs?: number };
  statementTimeoutMs?: number;
  hosts?: Host[];
  srv?: boolean;
}

export interface Source {
  sourceId: string;
  hubId: string;
  label: string;
  engine: string;
  connectionSettings: ConnectionSettings;
  createdAt: string;
  updatedAt: string | null;
}

export interface Table {
  schema: string;
  name: string;
  kind: string;
  columns: Column[];
}

export interface KeyLimits {
  hubIds?: string[];
  queryIds?: string[];
  origins?: string[];
  context?: Record<string, unknown>;
  ratePerMinute?: number;
  maxRows?: number;
}

export interface Key {
  keyId: string;
  name: string;
  scopes: string[];
  limits: KeyLimits;
  lastCharacters: string;
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
}

export interface Classifier {
  classifierId: string;
  name: string;
  createdAt: string;
  classes?: { classId: string; label: string; observations: number }[];
}

export interface Prediction {
  label: string;
  confidence: number;
  scores: { classId: string; label: string; confidence: number }[];
}

/** A job that trains a classifier with the rows of a query. */
export interface Job {
  jobId: string;
  queryId: string;
  state: 'queued' | 'running' | 'done' | 'failed';
  rows: number;
  trained: number;
  corrected: number;
  skipped: number;
  nullIds: number;
  invalid: number;
  truncated: boolean;
  /** The first rows that are no examples. */
  faults: { row: number; detail: string }[];
  error: { code: string; detail: string } | null;
}

export interface AuditEntry {
  entryId: string;
  at: string;
  keyId: string;
  action: string;
  resourceId: string;
  count: number;
  failed: number;
}
