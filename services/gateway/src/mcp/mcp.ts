/**
 * `POST /mcp`: the Model Context Protocol over streamable HTTP, without sessions, so any gateway can answer any message.
 * The official SDK speaks the revisions of the protocol. It is loaded with the first message.
 */

import type { FastifyRequest } from 'fastify';
import type { Handler, Route } from '../http/route.ts';
import { JsonSplices } from '../response/json-splices.ts';
import { ResponseBytes } from '../response/response-bytes.ts';
import type { ResponseSettings } from '../response/streamed-response.ts';
import type { Upstreams } from '../upstreams.ts';
import { createToolServer, type Sdk } from './tool-server.ts';

export interface McpOptions {
  upstreams: Upstreams;
  settings: ResponseSettings;
  publicOrigin: string | undefined;
}

export function createMcpRoute(options: McpOptions): Route {
  const message = { type: 'object' };
  return {
    method: 'POST',
    path: '/mcp',
    scope: undefined,
    summary: 'Model Context Protocol',
    audit: 'not audited',
    body: message,
    reads: true,
    bearer: true,
    response: message,
    handler: createMcpHandler(options),
  };
}

function createMcpHandler({ upstreams, settings, publicOrigin }: McpOptions): Handler {
  let loading: Promise<Sdk> | undefined;
  return async (request, reply) => {
    loading ??= import('@modelcontextprotocol/server');
    const sdk = await loading;
    const splices = new JsonSplices();
    const origin = publicOrigin ?? `${request.protocol}://${request.host}`;
    const handler = sdk.createMcpHandler(
      () => createToolServer(sdk, { request, upstreams, settings, origin, splices }),
      // Lists of tools do not announce their changes.
      { maxSubscriptions: 0, keepAliveMs: 0 },
    );
    try {
      const response = await handler.fetch(toWebRequest(request), { parsedBody: request.body });
      const text = await response.text();
      const contentType = response.headers.get('content-type');
      reply.code(response.status);
      if (contentType !== null) reply.header('content-type', contentType);
      const bytes = new ResponseBytes(request, settings.responseBudget);
      for (const part of splices.splice(text)) await bytes.add(part);
      return text === '' ? reply.send() : reply.send(bytes.end());
    } finally {
      await handler.close();
    }
  };
}

/** The request without its key. The body is passed as parsed. */
function toWebRequest({ headers, context: { signal } }: FastifyRequest): Request {
  const stop = new AbortController();
  if (signal.aborted) stop.abort(signal.reason);
  else signal.addEventListener('abort', () => stop.abort(signal.reason), { once: true });
  const passed = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    const isPassed = name === 'accept' || name === 'content-type' || name.startsWith('mcp-');
    if (isPassed && typeof value === 'string') passed.set(name, value);
  }
  return new Request('http://hub/mcp', { method: 'POST', headers: passed, signal: stop.signal });
}
