/**
 * `POST /mcp`: the Model Context Protocol over streamable HTTP, without sessions, so any gateway can answer any message.
 * The official SDK speaks the revisions of the protocol. It is loaded with the first message.
 */

import { audienceOfToken } from '@datahub/service-kit/api-key';
import { toAbortSignal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { loadOnce } from '@datahub/service-kit/load-once';
import { nextTurn } from '@datahub/service-kit/yield-to-loop';
import type { FastifyRequest } from 'fastify';
import { createPlaces } from '../http/places.ts';
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

/** The most messages of a batch. Each counts as a request against the rates of the key. */
const batchMax = 20;
/** In memory, of a text that is not Latin-1. */
const characterBytes = 2;
/** In one gateway. The tools of one caller take some 30 MB at most. */
const places = { allMax: 3, accountMax: 2, waitingMax: 200 };
/** The only revision with batches, which clients of it do not name in a header. */
const batchRevision = '2025-03-26';

export function createMcpRoute(options: McpOptions): Route {
  const message = { type: 'object' };
  return {
    method: 'POST',
    path: '/mcp',
    scope: undefined,
    summary: 'Model Context Protocol',
    audit: 'not audited',
    body: { anyOf: [message, { type: 'array', minItems: 1, maxItems: batchMax, items: message }] },
    reads: true,
    keyRefusal: 'does not apply to the messages of MCP: a tool that writes runs each time it is called',
    bearer: true,
    response: { anyOf: [message, { type: 'array', items: message }] },
    handler: createMcpHandler(options),
  };
}

/** In pieces, because others wait for each. */
async function load(): Promise<Sdk> {
  await import('@modelcontextprotocol/server/validators/ajv');
  await nextTurn();
  const sdk = await import('@modelcontextprotocol/server');
  await nextTurn();
  return sdk;
}

interface Answer {
  status: number;
  text: string;
  contentType: string | null;
}

function createMcpHandler({ upstreams, settings, publicOrigin }: McpOptions): Handler {
  const loadSdk = loadOnce(load);
  const takePlace = createPlaces(
    places,
    `${places.waitingMax} messages of this account are waiting. Try again later.`,
  );
  return async (request, reply) => {
    requireNoApiToken(request);
    const accepted = acceptedOf(request.headers.accept);
    const { body } = request;
    const refused = Array.isArray(body) ? refusalOfBatch(request, body) : refusalOf(body);
    if (refused !== undefined) return reply.code(400).send(refused);
    const sdk = await loadSdk();
    const splices = new JsonSplices();
    const origin = publicUrlOf(request, publicOrigin);
    let place: readonly string[] = [];
    const handler = sdk.createMcpHandler(
      () => createToolServer(sdk, { request, place, upstreams, settings, origin, splices, takePlace }),
      // Lists of tools do not announce their changes.
      { maxSubscriptions: 0, keepAliveMs: 0 },
    );
    const admit = async () => {
      await request.context.requireCaller();
      await settings.admit(request, reply);
    };
    const answer = async (message: unknown, index?: number): Promise<Answer> => {
      place = index === undefined ? [] : [String(index)];
      const response = await handler.fetch(toWebRequest(request), { parsedBody: message });
      const contentType = response.headers.get('content-type');
      return { status: response.status, text: await response.text(), contentType };
    };
    const keep = (characters: number) =>
      settings.responseBudget.reserve(request, characterBytes * (characters + splices.length));
    try {
      const { status, ...found } = Array.isArray(body)
        ? await answerBatch(body, { answer, admit, keep })
        : await answer(body);
      const { text, contentType } = toAccepted(found, accepted);
      reply.code(status);
      if (contentType !== null) reply.header('content-type', contentType);
      const bytes = new ResponseBytes(request, settings.responseBudget);
      for (const part of splices.splice(text)) await bytes.add(part);
      return text === '' ? reply.send() : reply.send(bytes.end());
    } finally {
      await handler.close();
    }
  };
}

/** The token of the command line is for the API alone. */
function requireNoApiToken({ headers }: FastifyRequest): void {
  const { 'x-service-api-key': key = headers.authorization?.replace(/^bearer +/i, '') ?? '' } = headers;
  if (audienceOfToken(String(key)) === 'api')
    throw new HubError(
      'SCOPE_DENIED',
      'The sign-in of the command line is not for agents. Let the agent connect by the address of /mcp, or give it a key.',
    );
}

interface Batch {
  /** `index`: the place of the message. Answers one at a time. */
  answer(message: unknown, index: number): Promise<Answer>;
  admit(): Promise<void>;
  /** Reserves memory for the answers so far, of which the texts have so many characters. */
  keep(characters: number): void;
}

/** The messages are answered in their order, and notifications not at all. */
async function answerBatch(messages: readonly unknown[], { answer, admit, keep }: Batch): Promise<Answer> {
  const texts: string[] = [];
  let characters = 0;
  for (const [i, message] of messages.entries()) {
    if (i > 0) {
      await admit();
      await nextTurn();
    }
    const refused = refusalOf(message) ?? refusalInBatch(message);
    const { text } =
      refused === undefined
        ? toAccepted(await answer(message, i), 'application/json')
        : { text: JSON.stringify(refused) };
    if (text !== '') texts.push(text);
    characters += text.length;
    keep(characters);
  }
  if (texts.length === 0) return { status: 202, text: '', contentType: null };
  return { status: 200, text: `[${texts.join(',')}]`, contentType: 'application/json' };
}

function refusalOfBatch({ headers }: FastifyRequest, messages: readonly unknown[]): object | undefined {
  const revision = headers['mcp-protocol-version'] ?? batchRevision;
  if (revision !== batchRevision)
    return invalidRequest(null, `the revision ${revision} has no batches; send one message a request`);
  const isRequest = (message: unknown) => typeof (message as { method?: unknown }).method === 'string';
  return messages.every(isRequest)
    ? undefined
    : invalidRequest(null, 'a batch has requests and notifications');
}

/** The revision says so of `initialize`. */
function refusalInBatch(message: unknown): object | undefined {
  const { id, method } = message as { id?: unknown; method?: unknown };
  return method === 'initialize' ? invalidRequest(id, 'initialize must not be part of a batch') : undefined;
}

function invalidRequest(id: unknown, detail: string): object {
  const known = typeof id === 'string' || typeof id === 'number' ? id : null;
  return { jsonrpc: '2.0', id: known, error: { code: -32_600, message: `Invalid Request: ${detail}` } };
}

/**
 * JSON-RPC 2.0: `params` is an object or a list if it is there. The SDK calls other messages no JSON. A longer number would
 * come back as another one.
 */
function refusalOf(message: unknown): object | undefined {
  const { id, params } = message as { id?: unknown; params?: unknown };
  if (typeof id === 'number' && !Number.isSafeInteger(id))
    return invalidRequest(null, 'an id must be a text, or an integer of at most 2^53 - 1');
  if (params === undefined || (typeof params === 'object' && params !== null)) return undefined;
  return invalidRequest(id, 'params must be an object, or left out');
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
