import { expect, onTestFinished, test } from 'vitest';
import { createServiceResolve } from '../../src/network/resolver.ts';
import { startNameServer } from './name-server.ts';

const asker = (signal = new AbortController().signal) => ({ accountId: 'account', signal });

const nameOf = (name: string) => [
  ...name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]),
  0,
];
const srv = (port: number, name: string) => [0, 0, 0, 0, port >> 8, port & 0xff, ...nameOf(name)];
const txt = (text: string) => [text.length, ...Buffer.from(text)];

/** What the questions look like to the name server of the tests, which knows letters alone. */
const question = (name: string) => `.mongodb..tcp.${name} SRV`;

async function start(timeoutMs?: number) {
  const server = await startNameServer({
    [question('shop.example')]: [srv(27_017, 'a.shop.example'), srv(27_018, 'b.shop.example')],
    'shop.example TXT': [txt('replicaSet=rs')],
    [question('bare.example')]: [srv(27_017, 'a.bare.example')],
  });
  onTestFinished(server.close);
  const resolve = createServiceResolve({ servers: [server.at], ...(timeoutMs ? { timeoutMs } : {}) });
  return { server, resolve };
}

test('a service has its servers and its text, which may be missing', async () => {
  const { resolve } = await start();
  const { servers, texts } = await resolve('mongodb', 'shop.example', asker());
  expect(servers.sort((one, other) => one.port - other.port)).toEqual([
    { host: 'a.shop.example', port: 27_017 },
    { host: 'b.shop.example', port: 27_018 },
  ]);
  expect(texts).toEqual(['replicaSet=rs']);
  expect(await resolve('mongodb', 'bare.example', asker())).toMatchObject({ texts: [] });
});

test('an unknown service rejects', async () => {
  const { resolve } = await start();
  await expect(resolve('mongodb', 'other.example', asker())).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

test('a look-up ends at its timeout or when its caller aborts', async () => {
  const lookUp = async (timeoutMs: number, signal?: AbortSignal) => {
    const { resolve } = await start(timeoutMs);
    await expect(resolve('mongodb', 'slow.example', asker(signal))).rejects.toThrow();
  };
  await lookUp(600_000, AbortSignal.timeout(50));
  const startedAt = performance.now();
  await lookUp(200);
  expect(performance.now() - startedAt).toBeGreaterThan(150);
});
