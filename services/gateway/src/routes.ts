/** All routes of `/v1`, as their resources declare them. */

import type { Route } from './http/route.ts';
import { auditRoutes } from './resources/audit.ts';
import { boardRoutes } from './resources/boards.ts';
import { classifierRoutes } from './resources/classifiers/classifiers.ts';
import { jobRoutes } from './resources/classifiers/jobs.ts';
import { trainedExampleRoutes } from './resources/classifiers/trained-examples.ts';
import { hubDocumentRoutes } from './resources/documents/hub-document.ts';
import { executionRoutes } from './resources/execute.ts';
import { folderRoutes } from './resources/folders.ts';
import { hubRoutes } from './resources/hubs.ts';
import { keyRoutes } from './resources/keys.ts';
import { agentRoutes } from './resources/people/agents.ts';
import { grantRoutes } from './resources/people/grants.ts';
import { peopleRoutes } from './resources/people/people.ts';
import { queryCheckRoutes } from './resources/queries/checks.ts';
import { queryRoutes } from './resources/queries/queries.ts';
import { rowsRoutes } from './resources/queries/rows.ts';
import { queryRunRoutes } from './resources/queries/runs.ts';
import { severalReadsRoutes } from './resources/queries/several-reads.ts';
import { statisticsRoutes } from './resources/queries/statistics.ts';
import { transactionRoutes } from './resources/queries/transaction.ts';
import { queryTryRoutes } from './resources/queries/try.ts';
import { queryVersionRoutes } from './resources/queries/versions.ts';
import type { ResourceDeps } from './resources/resource-deps.ts';
import { sourceRoutes } from './resources/sources.ts';
import { summaryRoutes } from './resources/summarize.ts';
import { destinationRoutes } from './resources/watches/destinations.ts';
import { eventRoutes } from './resources/watches/events.ts';
import { watchRunRoutes } from './resources/watches/runs.ts';
import { watchRoutes } from './resources/watches/watches.ts';

const resources = [
  hubRoutes,
  hubDocumentRoutes,
  folderRoutes,
  sourceRoutes,
  queryRoutes,
  executionRoutes,
  severalReadsRoutes,
  queryCheckRoutes,
  queryTryRoutes,
  transactionRoutes,
  rowsRoutes,
  queryVersionRoutes,
  statisticsRoutes,
  queryRunRoutes,
  classifierRoutes,
  trainedExampleRoutes,
  jobRoutes,
  summaryRoutes,
  boardRoutes,
  watchRoutes,
  watchRunRoutes,
  eventRoutes,
  destinationRoutes,
  keyRoutes,
  peopleRoutes,
  grantRoutes,
  agentRoutes,
  auditRoutes,
];

export const listRoutes = (deps: ResourceDeps): Route[] => resources.flatMap((routesOf) => routesOf(deps));

/** The routes for programs that describe them, such as generators. Their handlers must not be called. */
export const describeRoutes = (): Route[] =>
  listRoutes({ upstreams: {}, signatures: {}, settings: {} } as unknown as ResourceDeps);
