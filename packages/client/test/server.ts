/** A server that answers as a test says, to fail in ways that a hub rarely does. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type ClientOptions, createClient } from '../dist/index.js';

export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

export interface Received {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** Each request takes the next answer; the last one answers all further requests. */
export function useServer() {
  const received: Received[] = [];
  let answers: Answer[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { method = '', url = '', headers } = request;
    received.push({ method, url, headers, body });
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    answer?.(response, request);
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    received.length = 0;
  });
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    received,
    url,
    answers: (...given: Answer[]) => {
      answers = given;
    },
    client: (options: Partial<ClientOptions> = {}) => createClient({ url: url(), key: 'secret', ...options }),
  };
}

export const json =
  (body: unknown): Answer =>
  (response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));

export const problem =
  (status: number, members: object = {}, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response
      .writeHead(status, { 'content-type': 'application/problem+json', ...headers })
      .end(JSON.stringify({ status, ...members }));

export const cutOff: Answer = (response) => response.destroy();
