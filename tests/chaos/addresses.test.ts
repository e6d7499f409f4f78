import { randomBytes } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  loopback,
  never,
  noHosts,
  oddForms,
  privates,
} from '../../services/executor/test/cases/addresses.ts';
import { type Hub, openHub } from '../../services/hub/src/compose.ts';
import { type Api, createApi } from '../support/api.ts';
import { hubSettings } from '../support/spawned.ts';

const key = `test-key-${randomBytes(24).toString('hex')}`;

/** Every attempt of this process to connect to a port, by address. */
function watchDials(port: number): { attempts: string[]; stop(): void } {
  const attempts: string[] = [];
  const noted = (address: string, at: number) => {
    if (at === port) attempts.push(address);
  };
  const follow = (message: unknown) => (message as { socket: Socket }).socket.on('connectionAttempt', noted);
  const sockets = channel('net.client.socket');
  sockets.subscribe(follow);
  return { attempts, stop: () => void sockets.unsubscribe(follow) };
}

describe('addresses that sources may not be at', () => {
  let dir: string;
  let hub: Hub;
  let api: Api;
  let hubId: string;
  let server: Server;
  let port: number;
  let accepted = 0;

  const open = async (env: Record<string, string>) => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-addresses-'));
    hub = await openHub({
      ...hubSettings(dir, key),
      ...env,
    });
    api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
    hubId = (await api.ok(api.post('/v1/hubs', { label: 'addresses' }))).hubId;
  };
  const close = async () => {
    await hub?.close();
    await rm(dir, { recursive: true, force: true });
  };
  /** What the test of a source there answers, without what differs from one request to the next. */
  const ask = async (engine: string, host: string, at = port) => {
    const connectionSettings = { host, port: at, database: 'd', user: 'u', password: 'secret' };
    const source = { hubId, label: 's', engine, connectionSettings };
    const made = await api.post('/v1/sources', source);
    if (made.status !== 200) return { status: made.status, code: made.body.code, tookMs: 0, text: '' };
    const startedAt = performance.now();
    const { status, body, headers } = await api.post(`/v1/sources/${made.body.sourceId}/test`);
    const tookMs = performance.now() - startedAt;
    const { requestId: _, instance: __, ...rest } = body;
    const names = [...headers.keys()].sort().join();
    return { status, code: body.code, tookMs, text: JSON.stringify([rest, names]) };
  };

  beforeAll(async () => {
    server = createServer((socket) => {
      accepted++;
      socket.destroy();
    });
    server.listen(0, '::');
    await once(server, 'listening');
    ({ port } = server.address() as { port: number });
  });
  afterAll(() => void server.close());

  it.each(['postgres', 'mongodb'])('are dialled in none of their forms by %s', async (engine) => {
    await open({ DATAHUB_SOURCES_LOOPBACK: '0', DATAHUB_SOURCES_PRIVATE: '0' });
    const dials = watchDials(port);
    try {
      const forms = [...new Set([...never, ...loopback, ...privates, ...oddForms, ...noHosts, 'localhost'])];
      expect(forms.length).toBeGreaterThanOrEqual(120);
      const answers: (Awaited<ReturnType<typeof ask>> & { host: string })[] = [];
      const left = forms.values();
      const askThem = async () => {
        for (const host of left) answers.push({ host, ...(await ask(engine, host)) });
      };
      await Promise.all([askThem(), askThem(), askThem(), askThem()]);
      const saved = answers.filter(({ status }) => status !== 400);
      expect(new Set(saved.map(({ status, code }) => `${status} ${code}`))).toEqual(
        new Set(['502 SOURCE_UNREACHABLE']),
      );
      expect(new Set(saved.map(({ text }) => text)).size).toBe(1);
      // What is no host at all may be refused when it is saved, and nothing else.
      const refused = answers.filter(({ status }) => status === 400).map(({ host }) => host);
      expect(refused.filter((host) => !noHosts.includes(host))).toEqual([]);
      expect([dials.attempts, accepted]).toEqual([[], 0]);
    } finally {
      dials.stop();
      await close();
    }
  });

  it('are dialled in none of their forms for a destination, and all end alike', async () => {
    await open({ DATAHUB_SOURCES_LOOPBACK: '0', DATAHUB_SOURCES_PRIVATE: '0' });
    const dials = [port, hub.port].map(watchDials);
    try {
      const urls = [
        ...['169.254.169.254', '[::ffff:169.254.169.254]', '0xa9fea9fe', '2852039166', '0251.0376.0251.0376'],
        ...['100.100.100.200', '[fd00:ec2::254]', '10.0.0.1', '192.168.0.1', '[::ffff:127.0.0.1]', '127.1'],
        ...['0.0.0.0', '[::]', 'localhost', 'localhost.', '[fe80::1]'],
      ].flatMap((host) => [`http://${host}:${port}/latest/meta-data/`, `http://${host}:${hub.port}/metrics`]);
      const ends = await Promise.all(
        urls.map(async (url) => {
          const body = { label: 'd', url, hubIds: [hubId] };
          const { destinationId } = await api.ok(api.post('/v1/destinations', body));
          await api.ok(api.post(`/v1/destinations/${destinationId}/test`));
          const find = async () =>
            (await api.ok(api.get(`/v1/deliveries?destinationId=${destinationId}`)))[0];
          await expect.poll(async () => (await find()).attempts, { timeout: 60_000 }).toBe(1);
          const { state, status, error } = await find();
          return JSON.stringify([state, status, error]);
        }),
      );
      expect(new Set(ends)).toEqual(new Set(['["failed",null,"The destination cannot be reached."]']));
      for (const url of ['http://user:word@example.com/', 'http://user@example.com/', 'file:///etc/passwd'])
        expect((await api.post('/v1/destinations', { label: 'd', url })).status).toBe(400);
      const mine = dials[1]?.attempts.filter((address) => address !== '127.0.0.1');
      expect([dials[0]?.attempts, mine, accepted]).toEqual([[], [], 0]);
    } finally {
      for (const { stop } of dials) stop();
      await close();
    }
  });

  it.each(['postgres', 'mongodb'])(
    'look from outside like a closed port, in every word and in time, to %s',
    async (engine) => {
      await open({ DATAHUB_SOURCES_DENY: '127.0.0.2/32' });
      const closed = createServer();
      await once(closed.listen(0, '127.0.0.1'), 'listening');
      const { port: closedPort } = closed.address() as { port: number };
      closed.close();
      const dials = watchDials(closedPort);
      try {
        const texts = new Set<string>();
        // The fastest of many, which other programs did not hold up.
        const fastestMs: Record<string, number> = { '127.0.0.1': Infinity, '127.0.0.2': Infinity };
        const differenceMs = () =>
          Math.abs((fastestMs['127.0.0.1'] as number) - (fastestMs['127.0.0.2'] as number));
        for (let i = 0; i < 20 || (i < 400 && differenceMs() > 5); i++) {
          for (const host of i % 2 === 0 ? ['127.0.0.1', '127.0.0.2'] : ['127.0.0.2', '127.0.0.1']) {
            const { text, tookMs, status } = await ask(engine, host, closedPort);
            expect(status).toBe(502);
            texts.add(text);
            fastestMs[host] = Math.min(fastestMs[host] as number, tookMs);
          }
        }
        console.log(`closed port and policy differ by ${differenceMs().toFixed(2)} ms`);
        expect(differenceMs()).toBeLessThanOrEqual(5);
        expect(texts.size).toBe(1);
        expect(new Set(dials.attempts)).toEqual(new Set(['127.0.0.1']));
      } finally {
        dials.stop();
        await close();
      }
    },
  );
});
