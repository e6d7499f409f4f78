import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { runCommandLine } from '../../src/run-command.ts';

it('predict fails if the answer has no predictions', async () => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.setHeader('content-type', 'application/json').end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const env = { DATAHUB_URL: `http://127.0.0.1:${port}`, DATAHUB_API_KEY: 'k' };
  const code = await runCommandLine(['predict', 'dh.clfr.x', 'a text'], { stdin, stdout, stderr, env });
  for (const stream of [stdout, stderr]) stream.end();
  expect([code, await text(stdout), await text(stderr)]).toEqual([
    1,
    '',
    'The answer of the hub has no predictions.\n',
  ]);
  server.closeAllConnections();
  server.close();
});
