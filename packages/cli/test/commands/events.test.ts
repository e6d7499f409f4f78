import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { runCommandLine } from '../../src/run-command.ts';

it('events --follow goes on after the hub was away', async () => {
  const event = (eventId: string) => ({ eventId, type: 'query.mended', at: '', hubId: null, data: {} });
  const page = (id: string) => JSON.stringify({ events: [event(id)], after: id });
  const answers: ((response: ServerResponse) => void)[] = [
    (response) => response.end(page('one')),
    (response) => response.end(page('two')),
    (response) => response.writeHead(401).end('{"code":"KEY_INVALID","detail":"It was revoked."}'),
  ];
  const asked: string[] = [];
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const server = createServer((request, response) => {
    const isAway = asked.length === 1 && stderr.readableLength === 0;
    // The client itself sends a request again, too.
    if (isAway) return response.destroy();
    asked.push(request.url ?? '');
    answers[asked.length - 1]?.(response.setHeader('content-type', 'application/json'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const env = { DATAHUB_URL: `http://127.0.0.1:${port}`, DATAHUB_API_KEY: 'k' };
  const code = await runCommandLine(['events', '--follow'], { stdin, stdout, stderr, env });
  for (const stream of [stdout, stderr]) stream.end();
  const printed = (await text(stdout)).trim().split('\n');
  expect(printed.map((line) => JSON.parse(line).eventId)).toEqual(['one', 'two']);
  expect(asked.map((url) => new URL(url, 'http://hub').searchParams.get('after'))).toEqual([
    ...[null, 'one', 'two'],
  ]);
  expect([code, await text(stderr)]).toEqual([7, expect.stringContaining('asked again until it answers')]);
  server.closeAllConnections();
  server.close();
});
