/** The shapes of the REST API that the console reads. */

import type { Node, Routes } from '@datahub/client';

export interface Problem {
  status: number;
  code?: string;
  title?: string;
  detail?: string;
  stage?: string;
  requestId?: string;
  retryable?: boolean;
  retryAfterS?: number | undefined;
  errors?: { pointer: string; detail: string }[];
  sql?: { state?: string; line?: number; column?: number };
}

export type Answer<Route extends keyof Routes> = Routes[Route]['answer'];

export type Hub = Answer<'GET /v1/hubs'>[number];

export type TreeNode = Omit<Node, 'hubId' | 'children' | 'truncated'> & { children: TreeNode[] };

export interface Column {
  name: string;
  type: string;
  nullable?: boolean;
}

/** What the database says of a query: its columns and variables. */
export type Signature = NonNullable<Answer<'GET /v1/queries/{queryId}'>['signature']>;

export type CachePolicy = NonNullable<QueryVersion['cache']>;

/** What the console stores in `presentation`. Others may have written it, so its parts are checked where they are drawn. */
export interface Presentation {
  chart?: object;
  pinned?: boolean;
  columns?: object;
}

export type Query = Answer<'GET /v1/queries/{queryId}'>;

/** With its last version and what was counted of its calls. */
export type ListedQuery = Answer<'GET /v1/queries'>[number];

export type Variable = Query['config']['context'][number];

/** How a column differs from that of the version when it was published. */
export type Drift = NonNullable<Query['drift']>[number];

/** What a query was after a change. */
export type QueryVersion = Answer<'GET /v1/queries/{queryId}/versions'>[number];

export type ConnectionSettings = Source['connectionSettings'];

export type Host = NonNullable<ConnectionSettings['hosts']>[number];

export type Source = Answer<'GET /v1/sources'>[number];

export type KeyLimits = Key['limits'];

/** Without most members if it may do more than the key of the tab. */
export type ListedKey = Answer<'GET /v1/keys'>[number];

export type Key = Answer<'PUT /v1/keys/{keyId}'>;

export type ListedClassifier = Answer<'GET /v1/classifiers'>[number];

export type Classifier = Answer<'GET /v1/classifiers/{classifierId}'>;

export type Prediction = Extract<Answer<'POST /v1/classifiers/{classifierId}/predict'>, { label: string }>;

/** A job that trains a classifier with the rows of a query. */
export type Job = Answer<'GET /v1/jobs/{jobId}'>;

export type AuditEntry = Answer<'GET /v1/audit'>[number];
