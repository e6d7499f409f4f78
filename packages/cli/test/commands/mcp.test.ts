import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { runCommandLine } from '../../src/run-command.ts';

/** The answers to lines of input, of a hub that answers with `answer` or, without one, with a connection that ends. */
async function answersTo(lines: string, answer: object | undefined) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const body = request.url === '/mcp' ? answer : { scopes: ['*'] };
      if (body === undefined) request.socket.destroy();
      else response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const env = { DATAHUB_URL: `http://127.0.0.1:${port}`, DATAHUB_API_KEY: 'k' };
  stdin.end(lines);
  const code = await runCommandLine(['mcp'], { stdin, stdout, stderr, env });
  for (const stream of [stdout, stderr]) stream.end();
  const answers = (await text(stdout))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  server.closeAllConnections();
  server.close();
  return { answers, code, notes: await text(stderr) };
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

it('mcp answers lines that are no messages, and goes on', async () => {
  const lines = `null\n5\n"text"\n{\n${JSON.stringify(ping)}\n`;
  const { answers, code, notes } = await answersTo(lines, { jsonrpc: '2.0', id: 1, result: {} });
  expect(answers.map(({ error, result }) => error?.code ?? result)).toEqual([
    ...[-32_600, -32_600, -32_600, -32_700],
    {},
  ]);
  expect([code, notes]).toEqual([0, '']);
});

it('mcp passes a list of messages on', async () => {
  const answer = [{ jsonrpc: '2.0', id: 1, result: {} }];
  expect((await answersTo(`${JSON.stringify([ping])}\n`, answer)).answers).toEqual([answer]);
});

it('mcp says of a call without an answer that it may have been carried out', async () => {
  const { answers } = await answersTo(`${JSON.stringify({ ...ping, method: 'tools/call' })}\n`, undefined);
  expect(answers).toMatchObject([
    { id: 1, error: { message: expect.stringContaining('may have been made') } },
  ]);
});
