import { once } from 'node:events';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { HubError } from '@datahub/service-kit/call/error';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type ProgressOptions, respondWithProgress } from '../../src/response/progress-response.ts';

let app: FastifyInstance;
let run: ProgressOptions['run'];
let response: ServerResponse;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  app = Fastify();
  app.get('/', (_request, reply) => {
    response = reply.raw;
    const failMidway = (err: unknown) => ({ code: (err as HubError).code }) as never;
    return respondWithProgress(reply, { run: (report) => run(report), failMidway });
  });
  await app.listen();
});
afterEach(async () => {
  vi.useRealTimers();
  await app.close();
});

const second = () => vi.advanceTimersByTime(1_000);

async function call(): Promise<IncomingMessage> {
  const { port } = app.server.address() as AddressInfo;
  const [answer] = await once(get({ port, agent: false }), 'response');
  return answer;
}

const linesOf = async (answer: IncomingMessage) =>
  (await text(answer)).split('\n').filter((line) => line !== '');

it('sends progress at most once a second, and the result at the end', async () => {
  const result = Promise.withResolvers<object>();
  run = async (report) => {
    for (let n = 1; n <= 6; n++) {
      report({ n });
      if (n % 2 === 1) second();
      await new Promise((resolve) => setImmediate(resolve));
    }
    return result.promise;
  };
  const answer = await call();
  expect(answer.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
  const [first] = await once(answer, 'data');
  expect(String(first)).toMatch(/^\{"n":2\}\n/);
  answer.unshift(first);
  result.resolve({ n: 7 });
  expect(await linesOf(answer)).toEqual(['{"n":2}', '{"n":4}', '{"n":6}', '{"n":7}']);
});

it('sends only the result of a call that takes less than a second', async () => {
  run = async (report) => {
    report({ n: 1 });
    return { n: 2 };
  };
  const answer = await call();
  expect(answer.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
  expect(await linesOf(answer)).toEqual(['{"n":2}']);
});

it('ends with the problem of a call that fails after progress, and fails as a whole before', async () => {
  run = async (report) => {
    second();
    report({ n: 1 });
    throw new HubError('NOT_FOUND', 'None.');
  };
  const answer = await call();
  expect(await linesOf(answer)).toEqual(['{"n":1}', '{"code":"NOT_FOUND"}']);
  expect([answer.statusCode, answer.complete]).toEqual([200, true]);

  run = async () => {
    throw new HubError('NOT_FOUND', 'None.');
  };
  const refused = await call();
  expect(refused.statusCode).toBe(500);
  refused.resume();
});

it('buffers no progress for a client that does not read', async () => {
  // More than the kernel buffers.
  const large = 'x'.repeat(33_554_432);
  const buffered: number[] = [];
  run = async (report) => {
    for (let i = 0; i < 5; i++) {
      second();
      report({ large });
      await new Promise((resolve) => setTimeout(resolve, 20));
      buffered.push(response.writableLength);
    }
    return { done: true };
  };
  const answer = await call();
  await vi.waitFor(() => expect(buffered).toHaveLength(5), 60_000);
  expect(Math.max(...buffered)).toBeLessThan(1.1 * large.length);
  const lines = await linesOf(answer);
  expect(lines.length).toBeLessThanOrEqual(3);
  expect(lines.at(-1)).toBe('{"done":true}');
});
