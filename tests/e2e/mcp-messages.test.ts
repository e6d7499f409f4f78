import { expect, inject, it } from 'vitest';

const { url, key } = inject('hub');

it('answers in the type that Accept allows, and names what is wrong in a message', async () => {
  const send = async (message: string, accept: string) => {
    const headers = { 'content-type': 'application/json', accept, 'x-service-api-key': key };
    const answer = await fetch(`${url}/mcp`, { method: 'POST', body: message, headers });
    return [answer.status, answer.headers.get('content-type')?.split(';')[0], await answer.text()] as const;
  };
  const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  const [, , text] = await send(list, 'Application/JSON');
  expect(JSON.parse(text)).toMatchObject({ id: 1, result: { tools: expect.any(Array) } });
  for (const [accept, type] of [
    ['application/json', 'application/json'],
    ['TEXT/*', 'text/event-stream'],
    ['*/*', expect.any(String)],
  ] as const)
    expect((await send(list, accept)).slice(0, 2)).toEqual([200, type]);
  expect((await send(list, 'text/html'))[0]).toBe(406);
  const [status, , refused] = await send(list.replace('}', ',"params":null}'), '*/*');
  expect([status, JSON.parse(refused)]).toMatchObject([400, { id: 1, error: { code: -32_600 } }]);
});

it('refuses an idempotency key, by which a tool would not run once', async () => {
  const headers = { 'content-type': 'application/json', 'x-service-api-key': key, 'idempotency-key': 'a' };
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  const answer = await fetch(`${url}/mcp`, { method: 'POST', body, headers });
  expect([answer.status, await answer.json()]).toMatchObject([
    400,
    { code: 'VALIDATION', errors: [{ pointer: 'header/idempotency-key' }] },
  ]);
});

it('answers batches of the revision that has them, each message in its place, and no others', async () => {
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const post = async (body: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${url}/mcp`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        'x-service-api-key': key,
        ...headers,
      },
    });
    const text = await answer.text();
    return { status: answer.status, type: answer.headers.get('content-type'), body: text === '' ? '' : text };
  };
  const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
  const initialize = { jsonrpc: '2.0', id: 2, method: 'initialize', params: {} };
  const call = { jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name: 'none', arguments: {} } };
  const { status, body } = await post([
    list,
    notification,
    initialize,
    call,
    { ...list, id: 3, params: null },
  ]);
  expect([status, JSON.parse(body)]).toMatchObject([
    200,
    [
      { id: 1, result: { tools: expect.any(Array) } },
      { id: 2, error: { code: -32_600, message: expect.stringContaining('part of a batch') } },
      { id: 'c', result: { isError: true } },
      { id: 3, error: { code: -32_600 } },
    ],
  ]);
  expect(await post([notification])).toMatchObject({ status: 202, body: '' });
  expect((await post([list], { 'mcp-protocol-version': '2025-03-26' })).status).toBe(200);
  const events = await post([list], { accept: 'text/event-stream' });
  expect([events.type, events.body]).toEqual([
    'text/event-stream',
    expect.stringMatching(/^event: message\ndata: \[\{/),
  ]);

  const later = await post([list], { 'mcp-protocol-version': '2025-06-18' });
  expect([later.status, later.body]).toEqual([400, expect.stringContaining('has no batches')]);
  expect((await post([])).status).toBe(400);
  expect((await post([{ jsonrpc: '2.0', id: 1, result: {} }])).status).toBe(400);
  expect((await post(Array.from({ length: 21 }, () => list))).status).toBe(400);
});
