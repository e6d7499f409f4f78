/**
 * `POST /mcp`: the Model Context Protocol over streamable HTTP, without sessions, so any gateway can answer any message.
 * The official SDK speaks the revisions of the protocol. It is loaded with the first message.
 */

import { toAbortSignal } from '@datahub/service-kit/call/call';
import type { FastifyRequest } from 'fastify';
import { publicUrlOf } from '../http/public-url.ts';
import type { Handler, Route } from '../http/route.ts';
import { JsonSplices } from '../response/json-splices.ts';
import { ResponseBytes } from '../response/response-bytes.ts';
import type { ResponseSettings } from '../response/streamed-response.ts';
import type { Upstreams } from '../upstreams.ts';
import { acceptedOf, sdkAccept, toAccepted } from './accepted.ts';
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
    const accepted = acceptedOf(request.headers.accept);
    const refused = refusalOf(request.body);
    if (refused !== undefined) return reply.code(400).send(refused);
    loading ??= import('@modelcontextprotocol/server');
    const sdk = await loading;
    const splices = new JsonSplices();
    const origin = publicUrlOf(request, publicOrigin);
    const handler = sdk.createMcpHandler(
      () => createToolServer(sdk, { request, upstreams, settings, origin, splices }),
      // Lists of tools do not announce their changes.
      { maxSubscriptions: 0, keepAliveMs: 0 },
    );
    try {
      const response = await handler.fetch(toWebRequest(request), { parsedBody: request.body });
      const answer = { text: await response.text(), contentType: response.headers.get('content-type') };
      const { text, contentType } = toAccepted(answer, accepted);
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

/** JSON-RPC 2.0: `params` is an object or a list if it is there. The SDK calls other messages no JSON. */
function refusalOf(body: unknown): object | undefined {
  const { id, params } = body as { id?: unknown; params?: unknown };
  if (params === undefined || (typeof params === 'object' && params !== null)) return undefined;
  const known = typeof id === 'string' || typeof id === 'number' ? id : null;
  const message = 'Invalid Request: params must be an object, or left out';
  return { jsonrpc: '2.0', id: known, error: { code: -32_600, message } };
}

/** The request without its key. The body is passed as parsed. */
function toWebRequest({ headers, context: { signal } }: FastifyRequest): Request {
  const passed = new Headers({ accept: sdkAccept });
  for (const [name, value] of Object.entries(headers)) {
    const isPassed = name === 'content-type' || name.startsWith('mcp-');
    if (isPassed && typeof value === 'string') passed.set(name, value);
  }
  return new Request('http://hub/mcp', { method: 'POST', headers: passed, signal: toAbortSignal(signal) });
}
