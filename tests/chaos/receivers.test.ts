import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '@datahub/service-kit/process/free-port';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { scaled } from '../support/scale.ts';
import { hubSettings } from '../support/spawned.ts';
import { clockSettings, setClocks } from './support/clocks.ts';

const { POSTGRES_URL } = process.env;
const queries = 3;
const largeBytes = 1_073_741_824;
/** Of a body that nobody reads, what the buffers of both sides take. */
const unreadBytesMax = 32 * 1_048_576;
/** The seconds between the next attempts. Some receivers keep each one until it ends after fifteen seconds. */
const pausesS = scaled([300], [300, 1_800]);
/** Longer than the pause after an attempt, with its jitter. */
const beyond = 1.2;

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** Writes 1 GB as fast as it is taken, and counts it. */
const createLarge = (status: number) => {
  const count = { written: 0 };
  const answer: Answer = (response) => {
    response.writeHead(status, { 'content-length': String(largeBytes) });
    const chunk = Buffer.alloc(65_536);
    const write = () => {
      if (response.destroyed || count.written >= largeBytes) return;
      count.written += chunk.length;
      response.write(chunk, write);
    };
    write();
  };
  return { answer, count };
};

const largeFault = createLarge(500);
const largeSuccess = createLarge(200);

/** How a receiver that is ill answers. */
const ill: Record<string, Answer> = {
  '/fails': (response) => response.writeHead(500).end(),
  '/hangs': () => {},
  '/redirects': (response, request) =>
    response.writeHead(307, { location: `http://${request.headers.host}/target` }).end(),
  '/drips': (response) => {
    response.socket?.write('HTTP/1.1 200 OK\r\n');
    const timer = setInterval(() => response.socket?.write('x-drip: 1\r\n'), 500);
    response.on('close', () => clearInterval(timer));
  },
  '/large-fault': largeFault.answer,
  '/closes': (_, request) => request.socket.destroy(),
};
/** What these answer is a success: of an answer, the hub reads the status alone. */
const successful: Record<string, Answer> = {
  '/large-success': largeSuccess.answer,
  '/closes-after-headers': (response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.flushHeaders();
    setTimeout(() => response.destroy(), 100);
  },
};

describe.skipIf(POSTGRES_URL === undefined)('receivers that are ill for an hour (need POSTGRES_URL)', () => {
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  const received: { path: string; headers: Record<string, string>; body: string }[] = [];
  let isIll = true;
  let dir: string;
  let clocks: string;
  let hub: DistributedHub;
  let api: Api;
  let server: Server;
  let away: Server;
  let awayPort: number;
  let hubId: string;

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url as string;
    received.push({ path, headers: request.headers as Record<string, string>, body: await text(request) });
    const answering = successful[path] ?? (isIll ? ill[path] : undefined);
    if (answering === undefined) response.writeHead(204).end();
    else answering(response, request);
  };

  beforeAll(async () => {
    [server, away] = [createServer(answer), createServer(answer)];
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    awayPort = await freePort();
    dir = await mkdtemp(join(tmpdir(), 'datahub-receivers-'));
    clocks = join(dir, 'clocks');
    await setClocks(clocks, 'catalog', [0]);
    const settings = { ...hubSettings(dir, key), ...clockSettings(clocks), DATAHUB_EDGE: 'none' };
    hub = await startDistributed(settings, 'ignore');
    api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'receivers' })));
  });
  afterAll(async () => {
    await hub?.close();
    for (const one of [server, away]) {
      one.closeAllConnections();
      await new Promise((resolve) => one.close(resolve));
    }
    await rm(dir, { recursive: true, force: true });
  });

  const deliveries = (): Promise<any[]> => api.ok(api.get('/v1/deliveries?limit=500'));

  it('get everything once they are well, each with a signature that the package standardwebhooks verifies', async () => {
    const { port } = server.address() as AddressInfo;
    const secrets = new Map<string, string>();
    const paths = new Map<string, string>();
    const create = async (path: string, url: string) => {
      const body = { label: path, url, hubIds: [hubId], events: ['query.published'] };
      const made = await api.ok(api.post('/v1/destinations', body));
      secrets.set(path, made.secret);
      paths.set(made.destinationId, path);
    };
    for (const path of Object.keys({ ...ill, ...successful }))
      await create(path, `http://127.0.0.1:${port}${path}`);
    await create('/away', `http://127.0.0.1:${awayPort}/away`);

    const connectionSettings = accessOf(POSTGRES_URL as string);
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    for (let i = 0; i < queries; i++)
      await api.ok(api.post('/v1/queries', { hubId, sourceId, label: `q${i}`, query: 'SELECT 1' }));

    const failing = [...Object.keys(ill), '/away'];
    const attempted = (attempts: number) =>
      expect
        .poll(
          async () => {
            const all = await deliveries();
            return all.filter((one) => one.state === 'pending' && one.attempts === attempts).length;
          },
          { timeout: 120_000, interval: 250 },
        )
        .toBe(failing.length * queries);
    let aheadMs = 0;
    const advance = (seconds: number) => {
      aheadMs += seconds * 1_000;
      return setClocks(clocks, 'catalog', [aheadMs]);
    };
    // The second attempt is five seconds after the first.
    await attempted(2);
    for (const [i, pauseS] of pausesS.entries()) {
      await advance(pauseS * beyond);
      await attempted(3 + i);
    }
    expect((await deliveries()).filter(({ state }) => state === 'delivered')).toHaveLength(
      Object.keys(successful).length * queries,
    );

    // An hour after the first attempt.
    await advance(3_600 - aheadMs / 1_000);
    isIll = false;
    await new Promise<void>((resolve) => away.listen(awayPort, '127.0.0.1', resolve));
    await advance(7_200 * beyond);
    await expect
      .poll(async () => (await deliveries()).filter(({ state }) => state !== 'delivered'), {
        timeout: 120_000,
        interval: 250,
      })
      .toEqual([]);

    const arrived = new Map<string, Set<string>>();
    for (const { path, headers, body } of received) {
      expect(new Webhook(secrets.get(path) as string).verify(body, headers)).toMatchObject({
        type: 'query.published',
      });
      const ids = arrived.get(path) ?? new Set();
      arrived.set(path, ids.add(headers['webhook-id'] as string));
    }
    const all = await deliveries();
    expect([...arrived.keys()].sort()).toEqual([...secrets.keys()].sort());
    for (const { deliveryId, destinationId } of all)
      expect(arrived.get(paths.get(destinationId) as string)).toContain(deliveryId);
    expect(all).toHaveLength(secrets.size * queries);
    expect([...arrived.values()].map(({ size }) => size)).toEqual([...arrived].map(() => queries));
    for (const { count } of [largeFault, largeSuccess]) {
      expect(count.written).toBeGreaterThan(0);
      expect(count.written).toBeLessThan(unreadBytesMax * queries * 4);
    }
    const list = await api.ok(api.get('/v1/destinations'));
    expect(list.filter((one: any) => one.disabled || one.failingSince !== null)).toEqual([]);
    console.log(
      `${received.length} requests, all verified; ${all.length} deliveries to ${secrets.size} receivers, all arrived`,
    );
  }, 600_000);
});
