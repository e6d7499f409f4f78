import { Agent, createServer, get, request as post, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { defaultPipelinePath } from '@datahub/edge/default-pipeline';
import { type Edge, openEdge } from '@datahub/edge/edge';
import { readSettings } from '@datahub/service-kit/settings/settings';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createKeyCache } from '../src/access/authenticate.ts';
import { createRateLimiter } from '../src/access/rate-limiter.ts';
import { createUserTokens } from '../src/access/user-tokens.ts';
import { createApp } from '../src/app.ts';
import { readGatewayConfig } from '../src/config.ts';
import { answerProblem } from '../src/http/raw-problem.ts';
import { createGatewayEvents } from '../src/telemetry/events.ts';

const key = 'a-key-of-at-least-32-characters-000';
const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
const logger = pino({ level: 'silent' });
const config = readSettings({}, (reader) => readGatewayConfig(reader, { edge: 'none', env: {} }));

let edge: Edge;
beforeAll(async () => {
  edge = await openEdge({ configPath: defaultPipelinePath, logger, env: {}, answer: answerProblem });
});
afterAll(() => edge.close());

describe('the listener of the app', () => {
  const apps: FastifyInstance[] = [];

  beforeAll(async () => {
    for (const inFront of [undefined, edge.inFront]) {
      const app = await createApp(config, {
        keyCache: createKeyCache({
          catalog: { authenticate: async () => ({ principal, expiresAt: undefined }) },
          cacheMs: 1_000,
          awayMs: 1_000,
        }),
        rateLimiter: createRateLimiter(config),
        userTokens: createUserTokens({} as never),
        events: createGatewayEvents(logger),
        usage: { answered: () => {}, close: async () => {} },
        readiness: { parts: [], missing: async () => [] },
        // All other requests of this test end before they reach a service.
        upstreams: { ml: { train: async () => ({ classes: [] }) } } as never,
        inFront,
      });
      await app.listen({ port: 0, host: '127.0.0.1' });
      app.server.headersTimeout = 300;
      app.server.requestTimeout = 600;
      apps.push(app);
    }
  });
  afterAll(() => Promise.all(apps.map((app) => app.close())));

  /** Returns the whole answer without the parts that differ each time. */
  const answerTo = (app: FastifyInstance, sent: string): Promise<string> =>
    new Promise((resolve) => {
      let text = '';
      const end = () => {
        socket.destroy();
        resolve(text.replaceAll(/^date: .*$/gim, 'date').replaceAll(/[0-9a-f]{32}/g, 'id'));
      };
      const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1', () =>
        socket.write(sent),
      );
      socket.setTimeout(60_000, end);
      socket.on('data', (data) => {
        text += data;
      });
      socket.on('error', () => {}).on('close', end);
    });

  const head = (line: string, ...headers: string[]) => [line, 'host: a', ...headers, '', ''].join('\r\n');
  const close = 'connection: close';
  const json = ['content-type: application/json', `x-service-api-key: ${key}`];
  const large = `{"label":"${'x'.repeat(1_100_000)}"}`;

  it.each([
    ['a probe', head('GET /healthz HTTP/1.1', close), '200 OK'],
    ['the console', head('GET / HTTP/1.1', close), '<title>Data Hub</title>'],
    ['a file of the console', head('GET /console/console.js HTTP/1.1', close), 'text/javascript'],
    ['HEAD', head('HEAD /healthz HTTP/1.1', close), '200 OK'],
    ['two requests at once', head('GET /healthz HTTP/1.1') + head('GET /readyz HTTP/1.1', close), '"ready"'],
    ['no key', head('GET /v1/hubs HTTP/1.1', close), '401 Unauthorized'],
    ['an unknown path', head('GET /v1/nothing?a=1 HTTP/1.1', ...json, close), '404 Not Found'],
    ['a method that the path does not allow', head('PATCH /v1/hubs HTTP/1.1', ...json, close), '405 Method'],
    [
      'a preflight',
      head(
        'OPTIONS /v1/hubs HTTP/1.1',
        'origin: https://app.example',
        'access-control-request-method: POST',
        'access-control-request-headers: x-service-api-key',
        close,
      ),
      '204 No Content',
    ],
    [
      'a body that is too large',
      head('POST /v1/hubs HTTP/1.1', ...json, `content-length: ${large.length}`, close) + large,
      '413 Payload Too Large',
    ],
    [
      'an announced body that is too large',
      `${head('POST /v1/hubs HTTP/1.1', ...json, 'expect: 100-continue', 'content-length: 2', close)}{}`,
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 Bad Request',
    ],
    [
      'a request after a body that is not JSON',
      `${head('POST /v1/hubs HTTP/1.1', ...json, 'content-length: 2')}{{${head('GET /healthz HTTP/1.1', close)}`,
      '"ok"',
    ],
    [
      'a body in chunks that are too small',
      head('POST /v1/hubs HTTP/1.1', ...json, 'transfer-encoding: chunked') + '1\r\n \r\n'.repeat(5_000),
      'its body arrives in chunks that are too small',
    ],
    ['an unknown expectation', head('GET /healthz HTTP/1.1', 'expect: x', close), '417 Expectation'],
    [
      'headers that are too large',
      head('GET /healthz HTTP/1.1', `x-a: ${'x'.repeat(20_000)}`),
      '431 Request Header Fields Too Large',
    ],
    [
      'header fields that are too many',
      head('GET /healthz HTTP/1.1', ...new Array<string>(5_000).fill('a:')),
      '431 Request Header Fields Too Large',
    ],
    ['no host', ['GET /healthz HTTP/1.1', 'x-a: b', '', ''].join('\r\n'), '"header/host"'],
    [
      'no host, and a second request',
      `POST /v1/hubs HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}${head('GET /healthz HTTP/1.1', close)}`,
      '400 Bad Request',
    ],
    [
      'two hosts',
      ['GET /healthz HTTP/1.1', 'Host: a.example', 'host: b.example', '', ''].join('\r\n'),
      'more than one Host header',
    ],
    ['no host in HTTP/1.0', 'GET /healthz HTTP/1.0\r\n\r\n', '200 OK'],
    ['no HTTP', 'hello\r\n\r\n', '400 Bad Request'],
    [
      'two lengths',
      head('POST /v1/hubs HTTP/1.1', 'content-length: 2', 'content-length: 3'),
      '400 Bad Request',
    ],
    [
      'both a length and chunks',
      head('POST /v1/hubs HTTP/1.1', 'content-length: 2', 'transfer-encoding: chunked'),
      '400 Bad Request',
    ],
    ['a malformed path', head('GET /v1/hubs/%zz HTTP/1.1', ...json, close), '400 Bad Request'],
    ['an incomplete request', 'GET /healthz HTTP/1.1\r\nhost:', '408 Request Timeout'],
  ])('answers %s in the same way with and without an edge', async (_, sent, expected) => {
    const [without, behind] = await Promise.all(apps.map((app) => answerTo(app, sent)));
    expect(without).toContain(expected);
    expect(behind).toBe(without);
    const [, status = ''] = /^HTTP\/1.1 ([45]\d\d)/m.exec(without ?? '') ?? [];
    if (status !== '') {
      expect(without).toContain('content-type: application/problem+json');
      expect(without).toContain(`"status":${status}`);
    }
  });

  /** Sends a chunk every 200 ms, for three times the request timeout. */
  const answerToSlow = (app: FastifyInstance, type: string, chunk: string): Promise<string> => {
    const { port } = app.server.address() as AddressInfo;
    const headers = { 'x-service-api-key': key, 'content-type': type };
    const chunks = (async function* () {
      for (let i = 0; i < 10; i++) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        yield chunk;
      }
    })();
    return new Promise((resolve) => {
      const request = post({ port, path: '/v1/classifiers/c/train', method: 'POST', headers }, (response) => {
        response.setEncoding('utf8');
        let text = `${response.statusCode} `;
        response.on('data', (part) => {
          text += part;
        });
        response.on('end', () => resolve(text));
      });
      request.on('error', () => {});
      // The timeout of the headers is shorter than the time to the first chunk.
      request.flushHeaders();
      Readable.from(chunks).pipe(request);
    });
  };

  it('reads an import for as long as data arrives, and any other body for a limited time', async () => {
    const ndjson = '{"label":"a","context":"words"}\n';
    const answers = apps.flatMap((app) => [
      answerToSlow(app, 'application/x-ndjson', ndjson),
      answerToSlow(app, 'application/json', ' '),
    ]);
    const [imported, timedOut, ...behind] = await Promise.all(answers);
    expect(imported).toBe('200 {"trained":10,"skipped":0,"faults":[]}');
    expect(timedOut).toContain('408 ');
    expect(behind[0]).toBe(imported);
    expect(behind[1]).toContain('408 ');
  });
});

describe('the edge before a server', () => {
  const count = 100;
  const megabyte = Buffer.alloc(2 ** 20);
  let made = 0;
  let left = false;
  let url: string;
  const peers = new Set<number | undefined>();

  const listener: RequestListener = (request, response) => {
    peers.add(request.socket.remotePort);
    if (request.url !== '/stream') return void response.end('ok');
    made = 0;
    left = false;
    response.once('close', () => {
      left = !response.writableFinished;
    });
    const chunks = (function* () {
      for (; made < count; made++) yield megabyte;
    })();
    return void Readable.from(chunks, { highWaterMark: 1 }).pipe(response);
  };
  const server = createServer((request, response) => edge.inFront(listener)(request, response));

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('forwards 100 MB at the speed of the reader', async () => {
    // The body of an answer that is collected as garbage is cancelled.
    const answer = await fetch(`${url}/stream`);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(made).toBeLessThan(20);
    let bytes = 0;
    for await (const chunk of answer.body as ReadableStream<Uint8Array>) bytes += chunk.length;
    expect([answer.status, bytes]).toEqual([200, count * megabyte.length]);
  });

  it('closes its connection to the hub when a reader leaves', async () => {
    const controller = new AbortController();
    await fetch(`${url}/stream`, { signal: controller.signal });
    controller.abort();
    await vi.waitFor(() => expect(left).toBe(true), { timeout: 60_000 });
    expect(made).toBeLessThan(count);
  });

  it('keeps a connection for many requests', async () => {
    peers.clear();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let i = 0; i < 5; i++) {
      await new Promise((resolve, reject) =>
        get(url, { agent }, (response) => response.resume().on('end', resolve)).on('error', reject),
      );
    }
    agent.destroy();
    expect(peers.size).toBe(1);
  });
});
