/** The shapes of the REST API that the console reads. */

import type { Node, Routes } from '@datahub/client';
import type { JsonType } from '@datahub/contract/json-types';
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

export type Hub = Routes['GET /v1/hubs']['answer'][number];

export type TreeNode = Omit<Node, 'hubId' | 'children' | 'truncated'> & { children: TreeNode[] };

export interface Variable {
  key: string;
  type?: string | undefined;
  value?: unknown;
  required?: boolean | undefined;
  enum?: unknown[] | undefined;
  description?: string | undefined;
  /** Its value stays out of addresses, versions and logs. */
  secret?: boolean | undefined;
}

export interface Column {
  name: string;
  type: string;
  nullable?: boolean;
}

export interface Signature {
  columns: (Column & { jsonType: JsonType })[];
  variables: { key: string; type?: string; list?: boolean; nullable?: boolean }[];
  problem?: { code?: string; detail?: string; sql?: Problem['sql'] };
}

export type CachePolicy = NonNullable<QueryVersion['cache']>;

/** What the console draws of a query. Others may have written it, so its parts are checked where they are drawn. */
export interface Presentation {
  chart?: object;
  pinned?: boolean;
  columns?: object;
}

/** How a column differs from that of the version when it was published. */
export interface Drift {
  name: string;
  change: 'added' | 'removed' | 'changed';
  from?: Partial<Column>;
  to?: Partial<Column>;
}

export interface Query {
  state?: 'broken';
  /** Why the database rejects it. */
  problem?: { code: string; detail: string; sql?: Problem['sql'] };
  drift?: Drift[];
  meta: { engine: string; hubId: string; label: string; parentNodeId?: string; path?: string };
  config: {
    command: string;
    context: Variable[] | null;
    cache?: CachePolicy | null;
    notNull?: string[];
    presentation?: Presentation;
    /** What agents see of it. */
    tool?: { name?: string; description: string } | null;
    query: { queryId: string; query: string };
    source: { sourceId: string; engine: string };
  };
  signature?: Signature | null;
}

/** What a query was after a change. */
export type QueryVersion = Routes['GET /v1/queries/{queryId}/versions']['answer'][number];

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

export type KeyLimits = Key['limits'];

export type Key = Routes['GET /v1/keys']['answer'][number];

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
export type Job = Routes['GET /v1/jobs/{jobId}']['answer'];

export type AuditEntry = Routes['GET /v1/audit']['answer'][number];
