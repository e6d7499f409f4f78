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
