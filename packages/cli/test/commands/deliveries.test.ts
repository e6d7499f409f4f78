import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { runCommandLine } from '../../src/run-command.ts';

it('deliveries list says how many there are beside those that it shows', async () => {
  const totals = ['2', '1'];
  const server = createServer((_, response) => {
    response.setHeader('x-total-count', totals.shift() ?? '');
    response.setHeader('content-type', 'application/json').end('[{"deliveryId":"one"}]');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const env = {
    DATAHUB_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    DATAHUB_API_KEY: 'k',
  };
  const list = async () => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const code = await runCommandLine(['deliveries', 'list', '--json'], { stdin, stdout, stderr, env });
    for (const stream of [stdout, stderr]) stream.end();
    return [code, JSON.parse(await text(stdout)), await text(stderr)];
  };
  expect(await list()).toEqual([0, [{ deliveryId: 'one' }], 'These are the newest 1 of 2 deliveries.\n']);
  expect(await list()).toEqual([0, [{ deliveryId: 'one' }], '']);
  server.closeAllConnections();
  server.close();
});
