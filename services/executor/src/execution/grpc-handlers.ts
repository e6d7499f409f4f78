/** The executor's service over gRPC: the same executor, behind a session, a stream or a plain call. */

import type { Executor } from '@datahub/executor-session/executor';
import {
  type SessionServerOptions,
  serveExecute,
  serveSession,
} from '@datahub/executor-session/session-server';
import type { ExecutorServiceService } from '@datahub/proto/executor/v1/executor';
import type { Calls } from '@datahub/service-kit/call/call';

export function createHandlers(
  executor: Executor,
  options: SessionServerOptions,
): Calls<typeof ExecutorServiceService> {
  return {
    execute: (request, ctx) => serveExecute(executor, request, ctx),
    session: (requests, ctx) => serveSession(executor, requests, { ...ctx, options }),
    testSource: (request, ctx) => executor.testSource(request, ctx),
    readSchema: (request, ctx) => executor.readSchema(request, ctx),
    describeQuery: (request, ctx) => executor.describeQuery(request, ctx),
  };
}
