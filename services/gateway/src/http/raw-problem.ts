/** Answers with a problem where there is no Fastify reply: for a request that never reaches the app. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HubError } from '@datahub/service-kit/call/error';
import { problemHeaders, toProblem } from './problem-details.ts';
import { requestIdOf } from './request-context.ts';

/** Closes the connection if the headers were sent. */
export function answerProblem(err: HubError, request: IncomingMessage, response: ServerResponse): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const path = (request.url ?? '').split('?', 1)[0] as string;
  const problem = toProblem(err, { path, id: requestIdOf(request) });
  const body = JSON.stringify(problem);
  response.writeHead(problem.status, {
    'x-request-id': problem.requestId,
    ...problemHeaders(err),
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}
