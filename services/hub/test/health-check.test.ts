import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const program = fileURLToPath(new URL('../health-check.mjs', import.meta.url));

async function exitCode(
  port: number,
  { options = [], HOST = '' }: { options?: string[]; HOST?: string } = {},
): Promise<number> {
  const child = spawn(process.execPath, [program, ...options], {
    env: { PORT: String(port), HOST },
    stdio: 'inherit',
  });
  return (await once(child, 'exit'))[0];
}

async function exitCodeWith(answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const code = await exitCode((server.address() as AddressInfo).port);
  server.close().closeAllConnections();
  return code;
}

it('says that the hub is ready, and that it is not, does not answer, or is not there', async () => {
  const status = (code: number): RequestListener => {
    return ({ url }, response) => response.writeHead(url === '/readyz' ? code : 404).end();
  };
  const codes = [status(200), status(503), () => {}].map(exitCodeWith);
  expect(await Promise.all([...codes, exitCode(1)])).toEqual([0, 1, 1, 1]);
});

it('waits until the hub is ready', async () => {
  let asked = 0;
  const server = createServer((_, response) => response.writeHead(++asked > 2 ? 200 : 503).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  expect(await exitCode((server.address() as AddressInfo).port, { options: ['--wait'] })).toBe(0);
  expect(asked).toBe(3);
  server.close().closeAllConnections();
});

it('asks at the address on which the hub listens', async () => {
  const server = createServer((_, response) => response.writeHead(200).end()).listen(0, '127.0.0.9');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  expect(await exitCode(port, { HOST: '127.0.0.9' })).toBe(0);
  expect(await exitCode(port, { HOST: '0.0.0.0' })).toBe(1);
  server.close().closeAllConnections();
});
