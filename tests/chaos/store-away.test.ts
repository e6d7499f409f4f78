import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { generateKeyPair } from '@datahub/sealing/key-pair';
import { createGrpcClient } from '@datahub/service-kit/grpc/client';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openHub } from '../../services/hub/src/compose.ts';
import { createApi } from '../support/api.ts';
import { inherited } from '../support/inherited.ts';
import { hubSettings } from '../support/spawned.ts';

const serverUrl = process.env.MONGODB_URL;

/** Connections to it go to the server of MONGODB_URL, as to a database that has come up at last. */
async function openGate(port: number): Promise<{ close(): void }> {
  const { hostname, port: serverPort } = new URL(serverUrl as string);
  const sockets = new Set<Socket>();
  const gate: Server = createServer((socket) => {
    const upstream = connect(Number(serverPort || 27017), hostname);
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(from);
      from
        .on('error', () => {})
        .on('close', () => to.destroy())
        .pipe(to);
    }
  });
  gate.listen(port, '127.0.0.1');
  await once(gate, 'listening');
  const close = () => {
    gate.close();
    for (const socket of sockets) socket.destroy();
  };
  return { close };
}

const database = () => `store_away_${process.pid}_${Math.random().toString(36).slice(2)}`;

describe.each(['catalog', 'ml'])('the start of %s without its store', (name) => {
  let child: ChildProcess;
  let output: string;
  let ports: { grpc: number; metrics: number; store: number };
  let ended: Promise<unknown[]>;
  const main = fileURLToPath(new URL(`../../services/${name}/src/main.ts`, import.meta.url));

  const start = async (settings: Record<string, string> = {}) => {
    const { publicKey } = await generateKeyPair();
    output = '';
    child = spawn(process.execPath, [main], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...inherited,
        DATAHUB_STORE_URL: `mongodb://127.0.0.1:${ports.store}/${database()}`,
        DATAHUB_GRPC_PORT: String(ports.grpc),
        DATAHUB_METRICS_PORT: String(ports.metrics),
        DATAHUB_INTERNAL_PORT: String(await freePort()),
        DATAHUB_SERVICE_TOKEN: 't'.repeat(32),
        DATAHUB_SEALING_PUBLIC_KEYS: publicKey,
        DATAHUB_API_KEY: 'k'.repeat(32),
        DATAHUB_LOG_FORMAT: 'json',
        ...settings,
      },
    });
    ended = once(child, 'close');
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
  };
  const lines = (event: string) => output.split('\n').filter((line) => line.includes(`"${event}"`));
  const readiness = async () => {
    const answer = await fetch(`http://127.0.0.1:${ports.metrics}/readyz`);
    return [answer.status, await answer.json()];
  };
  const notReady = [503, { status: 'not ready', missing: ['store'] }];

  beforeEach(async () => {
    ports = { grpc: await freePort(), metrics: await freePort(), store: await freePort() };
  });
  afterEach(async () => {
    if (child.exitCode === null) child.kill('SIGKILL');
    await ended;
  });

  it('waits, says what is missing, and ends at once when it is told to', async () => {
    await start();
    await expect.poll(readiness, { timeout: 60_000 }).toEqual(notReady);
    const client = createGrpcClient(CatalogServiceService, { address: `127.0.0.1:${ports.grpc}` });
    expect(await client.probe(20_000)).toBe('not serving');
    client.close();
    await expect.poll(() => lines('store.awaited').length).toBe(1);
    const said = JSON.parse(lines('store.awaited')[0] as string);
    expect(said.msg).toContain(`ECONNREFUSED 127.0.0.1:${ports.store}`);
    expect(said.msg).toContain('DATAHUB_STORE_URL');
    child.kill('SIGTERM');
    // The store never comes.
    expect(await ended).toEqual([0, null]);
  });

  it.skipIf(serverUrl === undefined)('serves when the store has come', async () => {
    await start();
    await expect.poll(readiness, { timeout: 60_000 }).toEqual(notReady);
    const gate = await openGate(ports.store);
    await expect.poll(readiness, { timeout: 60_000 }).toEqual([200, { status: 'ready' }]);
    const client = createGrpcClient(CatalogServiceService, { address: `127.0.0.1:${ports.grpc}` });
    expect(await client.probe(20_000)).toBe('serving');
    client.close();
    await expect.poll(() => lines('store.reached').length).toBe(1);
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    gate.close();
  });

  it('ends at a URL that no waiting mends', async () => {
    await start({ DATAHUB_STORE_URL: 'mongodb://127.0.0.1:1/x?authMechanism=none' });
    expect(await ended).toEqual([1, null]);
    expect(output).toContain('DATAHUB_STORE_URL');
    expect(lines('store.awaited')).toEqual([]);
  });
});

describe.skipIf(serverUrl === undefined)('the start of the hub in one process without its store', () => {
  it('waits for it', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'datahub-away-'));
    // Until the store is there, something else closes each connection.
    let tries = 0;
    const away = createServer((socket) => {
      tries++;
      socket.destroy();
    });
    away.listen(0, '127.0.0.1');
    await once(away, 'listening');
    const { port } = away.address() as AddressInfo;
    const key = 'k'.repeat(32);
    let opened = false;
    const opening = openHub({
      ...hubSettings(dir, key),
      DATAHUB_STORE_URL: `mongodb://127.0.0.1:${port}/${database()}`,
    });
    opening.then(() => {
      opened = true;
    });
    await vi.waitFor(() => expect(tries).toBeGreaterThan(2), { timeout: 60_000 });
    expect(opened).toBe(false);
    away.close();
    await once(away, 'close');
    const gate = await openGate(port);
    const hub = await opening;
    const api = createApi({ url: hub.url, key });
    expect(await api.ok(api.get('/v1/hubs'))).toEqual([]);
    await hub.close();
    gate.close();
    await rm(dir, { recursive: true });
  });
});
