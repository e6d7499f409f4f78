import { CallStop } from '@datahub/service-kit/call/call';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { createMcpRoute } from '../../src/mcp/mcp.ts';
import { consentContent } from '../../src/oauth/pages.ts';
import type { Upstreams } from '../../src/upstreams.ts';

const query = {
  queryId: 'q',
  hubId: 'h',
  command: 'SELECT',
  label: 'One',
  context: [],
  tool: { name: 'one' },
};

/** The tools of a key of which the catalog, or the ml service, lists only some. */
async function ask(cut: { truncated: boolean; total: number }, method: string, params: object = {}) {
  const upstreams = {
    catalog: {
      listTools: async () => ({ queries: [query], truncated: cut.truncated }),
      getQuery: async () => ({}),
    },
    ml: { listClassifiers: async () => ({ classifiers: [], total: cut.total }) },
  } as unknown as Upstreams;
  const settings = {
    responseBudget: { reserve: () => {} },
    failMidway: (err: Error) => ({ code: 'NOT_FOUND', detail: err.message }),
  };
  const route = createMcpRoute({ upstreams, settings: settings as never, publicOrigin: 'http://hub' });
  const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
  const context = { principal, signal: new CallStop(), requireCaller: async () => {}, requestId: 'r' };
  const headers = { accept: 'application/json', 'content-type': 'application/json', host: 'hub' };
  const body = { jsonrpc: '2.0', id: 1, method, params };
  const request = { context, headers, body, method: 'POST', url: '/mcp', raw: {} };
  let sent: unknown;
  const reply = {
    code: () => reply,
    header: () => reply,
    send: (text: unknown) => {
      sent = text;
      return reply;
    },
  } as unknown as FastifyReply;
  await route.handler(request as unknown as FastifyRequest, reply);
  return JSON.parse(String(sent)).result;
}

const whole = { truncated: false, total: 0 };
const call = (name: string, values: object) => ({ name, arguments: values });

it.each([
  { truncated: true, total: 0 },
  { truncated: false, total: 1 },
])('says that tools are left out, also if few are listed: %j', async (cut) => {
  expect((await ask(whole, 'tools/list')).tools.map(({ name }: { name: string }) => name)).toContain('one');
  const { tools } = await ask(cut, 'tools/list');
  expect(tools.map(({ name }: { name: string }) => name)).toEqual([
    'search_tools',
    'describe_tool',
    'run_tool',
  ]);
  expect(tools[0].description).toContain('left out');
  const found = await ask(cut, 'tools/call', call('search_tools', { text: '' }));
  expect(found.structuredContent).toMatchObject({ leftOut: expect.stringContaining('more tools') });
  const missing = await ask(cut, 'tools/call', call('run_tool', { name: 'two' }));
  expect(missing.content[0].text).toContain('left out');
});

it('says on the page of consent that the hubs have more tools', () => {
  const consent = { client: { name: 'c' }, isUnverified: false, who: 'w', request: {}, token: 't' };
  const offer = { hubs: [], hubsLeftOut: 0, scopes: [] };
  const page = (areAllTools: boolean) => consentContent(consent as never, { ...offer, areAllTools });
  expect(page(true)).not.toContain('more tools');
  expect(page(false)).toContain('more tools');
});
