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
    'shop.example TXT': [[...txt('replicaSet='), ...txt('rs')]],
    [question('bare.example')]: [srv(27_017, 'a.bare.example')],
    [question('addressed.example')]: [srv(27_017, 'a.addressed.example')],
    'addressed.example A': [[8, 8, 8, 8]],
    [question('refused.example')]: [srv(27_017, 'a.refused.example')],
    'refused.example TXT': 'refused',
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
  for (const name of ['bare.example', 'addressed.example'])
    expect(await resolve('mongodb', name, asker())).toMatchObject({ texts: [] });
  // The text has options that the connection needs, such as where users are.
  await expect(resolve('mongodb', 'refused.example', asker())).rejects.toMatchObject({ code: 'EREFUSED' });
});

test('look-ups give their permits back, whatever becomes of them', async () => {
  const { resolve } = await start();
  for (let i = 0; i < 10; i++) {
    await resolve('mongodb', 'bare.example', asker());
    await expect(resolve('mongodb', 'other.example', asker())).rejects.toThrow();
  }
});

test('an unknown service rejects', async () => {
  const { resolve } = await start();
  await expect(resolve('mongodb', 'other.example', asker())).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

test('a look-up ends at its timeout or when its caller aborts', async () => {
  const lookUp = async (timeoutMs: number, signal?: AbortSignal) => {
    const { resolve } = await start(timeoutMs);
    const slow = resolve('mongodb', 'slow.example', asker(signal));
    await expect(slow).rejects.toMatchObject({ code: 'ECANCELLED' });
  };
  await lookUp(600_000, AbortSignal.timeout(50));
  await lookUp(50);
});
