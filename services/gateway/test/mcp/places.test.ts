import { CallStop } from '@datahub/service-kit/call/call';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { createMcpRoute } from '../../src/mcp/mcp.ts';
import type { Upstreams } from '../../src/upstreams.ts';

/** The answer of a catalog that has begun to list the tools of a caller. */
interface Listing {
  accountId: string | undefined;
  answer(): void;
}

it.each([
  { method: 'tools/list', params: {} },
  { method: 'tools/call', params: { name: 'nothing', arguments: {} } },
])('reads the tools of two callers of an account at once: $method', async ({ method, params }) => {
  const listings: Listing[] = [];
  const upstreams = {
    catalog: {
      listTools: (_: object, { principal }: FastifyRequest['context']) =>
        new Promise((resolve) => {
          const answer = () => resolve({ queries: [], truncated: false });
          listings.push({ accountId: principal?.accountId, answer });
        }),
    },
    ml: { listClassifiers: async () => ({ classifiers: [], total: 0 }) },
  } as unknown as Upstreams;
  const settings = {
    responseBudget: { reserve: () => {} },
    failMidway: (err: Error) => ({ code: 'INTERNAL', detail: err.message }),
    admit: async () => {},
  };
  const route = createMcpRoute({ upstreams, settings: settings as never, publicOrigin: 'http://hub' });
  const send = (accountId: string) => {
    const principal = { accountId, keyId: 'k', scopes: ['*'], limits: undefined };
    const context = { principal, signal: new CallStop(), requireCaller: async () => {}, requestId: 'r' };
    const headers = { accept: 'application/json', 'content-type': 'application/json', host: 'hub' };
    const body = { jsonrpc: '2.0', id: 1, method, params };
    const request = { context, headers, body, method: 'POST', url: '/mcp', raw: {} };
    const reply = { code: () => reply, header: () => reply, send: () => reply } as unknown as FastifyReply;
    return route.handler(request as unknown as FastifyRequest, reply);
  };
  const sent = ['a', 'a', 'a', 'b'].map(send);
  const accounts = () => listings.map(({ accountId }) => accountId);
  await expect.poll(accounts).toEqual(['a', 'a', 'b']);
  listings[0]?.answer();
  await expect.poll(accounts).toEqual(['a', 'a', 'b', 'a']);
  for (const { answer } of listings) answer();
  await Promise.all(sent);
});

it('ends a batch once its answers take more memory than the budget has', async () => {
  let lists = 0;
  const upstreams = {
    catalog: {
      listTools: async () => {
        lists++;
        return { queries: [], truncated: false };
      },
    },
    ml: { listClassifiers: async () => ({ classifiers: [], total: 0 }) },
  } as unknown as Upstreams;
  let kept = 0;
  const reserve = (_: unknown, bytes: number) => {
    kept = bytes;
    if (lists === 3) throw new Error('no room');
  };
  const settings = { responseBudget: { reserve }, failMidway: () => ({}), admit: async () => {} };
  const route = createMcpRoute({ upstreams, settings: settings as never, publicOrigin: 'http://hub' });
  const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
  const context = { principal, signal: new CallStop(), requireCaller: async () => {}, requestId: 'r' };
  const headers = { accept: 'application/json', 'content-type': 'application/json', host: 'hub' };
  const body = Array.from({ length: 20 }, (_, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/list',
    params: {},
  }));
  const request = { context, headers, body, method: 'POST', url: '/mcp', raw: {} };
  await expect(route.handler(request as unknown as FastifyRequest, {} as FastifyReply)).rejects.toThrow(
    'no room',
  );
  expect(lists).toBe(3);
  expect(kept).toBeGreaterThan(0);
});
