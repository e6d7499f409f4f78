import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { runCommandLine } from '../../src/run-command.ts';

it('mcp answers lines that are no messages, and goes on', async () => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const answer = request.url === '/mcp' ? { jsonrpc: '2.0', id: 1, result: {} } : { scopes: ['*'] };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const env = { DATAHUB_URL: `http://127.0.0.1:${port}`, DATAHUB_API_KEY: 'k' };
  stdin.end('null\n5\n"text"\n{\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  const code = await runCommandLine(['mcp'], { stdin, stdout, stderr, env });
  for (const stream of [stdout, stderr]) stream.end();
  const answers = (await text(stdout))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(answers.map(({ error, result }) => error?.code ?? result)).toEqual([
    ...[-32_600, -32_600, -32_600, -32_700],
    {},
  ]);
  expect([code, await text(stderr)]).toEqual([0, '']);
  server.closeAllConnections();
  server.close();
});
