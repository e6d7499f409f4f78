/**
 * The four services apart on this machine, over gRPC. As a program (`npm run start:distributed`) it starts them, prints
 * where they are, and stays; tests start them with settings of their own.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadKeyFile, publicKeyOf } from '@datahub/sealing/key-pair';
import { freePort } from '@datahub/service-kit/process/free-port';
import type { Environment } from '@datahub/service-kit/process/settings';
import { v8Flags } from '../../service-kit/v8-flags.mjs';

export interface DistributedHub {
  /** The first gateway's. */
  port: number;
  /** Of each gateway. */
  gateways: { port: number; metricsPort: number }[];
  metricsPort: number;
  /** Where each service's first replica takes calls, and the catalog those of executors. */
  addresses: Record<(typeof services)[number] | 'internal', string>;
  /** Of the services, as they were started first. */
  pids: number[];
  /** Of one replica as it runs now. */
  pidOf(service: 'gateway' | (typeof services)[number], replica: number): number;
  /** Where each executor shows its figures. */
  executorMetricsPorts: number[];
  /** Where each catalog does. */
  catalogMetricsPorts: number[];
  /** Ends one replica, as a cluster does unless told otherwise, and starts it again; resolves when it serves, with the time it took to end. */
  restart(
    service: 'gateway' | (typeof services)[number],
    replica: number,
    signal?: 'SIGTERM' | 'SIGKILL',
  ): Promise<number>;
  /** Resolves with the name of a service that ended without being told to. */
  ended: Promise<string>;
  close(): Promise<void>;
}

const root = fileURLToPath(new URL('../../..', import.meta.url));
const readyTimeoutMs = 30_000;
const stopTimeoutMs = 30_000;

const services = ['catalog', 'executor', 'ml'] as const;

type Output = 'inherit' | 'ignore' | number;

/** `output`: where the services' logs go, a number being an open file. `replicas`: of every service; more than one wants a store that serves several. */
export async function startDistributed(
  env: Environment,
  output: Output = 'inherit',
  replicas = 1,
): Promise<DistributedHub> {
  const dataDir = env.DATAHUB_DATA_DIR ?? 'data';
  await mkdir(dataDir, { recursive: true });
  const privateKeys = await loadKeyFile(join(dataDir, 'sealing-keys'));
  const publicKeys = await Promise.all(privateKeys.map(publicKeyOf));
  const each = Array.from({ length: replicas }, (_, i) => i);
  const freePorts = () => Promise.all(each.map(freePort));
  const ports = { catalog: await freePorts(), executor: await freePorts(), ml: await freePorts() };
  const internalPorts = await freePorts();
  const addressesOf = (name: (typeof services)[number]) =>
    ports[name].map((port) => `127.0.0.1:${port}`).join(',');
  const common = {
    ...process.env,
    ...env,
    DATAHUB_SERVICE_TOKEN: env.DATAHUB_SERVICE_TOKEN ?? (await serviceToken(dataDir)),
    DATAHUB_CATALOG_ADDRESS: addressesOf('catalog'),
    DATAHUB_CATALOG_INTERNAL_ADDRESS: internalPorts.map((port) => `127.0.0.1:${port}`).join(','),
    DATAHUB_EXECUTOR_ADDRESS: addressesOf('executor'),
    DATAHUB_ML_ADDRESS: addressesOf('ml'),
  };
  const own = {
    catalog: {
      DATAHUB_SEALING_PUBLIC_KEYS: publicKeys.join(','),
      DATAHUB_CATALOG_REPLICAS: String(replicas),
    },
    executor: {
      DATAHUB_SEALING_KEY_FILE: join(dataDir, 'sealing-keys'),
      DATAHUB_SOURCES_LOOPBACK: env.DATAHUB_SOURCES_LOOPBACK ?? '1',
      DATAHUB_SOURCES_PRIVATE: env.DATAHUB_SOURCES_PRIVATE ?? '1',
    },
    ml: { DATAHUB_METRICS_PORT: '0' },
  };
  const gateways = await Promise.all(each.map((i) => gatewayPorts(env, i)));
  const executorMetricsPorts = await freePorts();
  const catalogMetricsPorts = await freePorts();
  const running = new Map<string, ChildProcess>();
  const ended = Promise.withResolvers<string>();
  const start = (name: 'gateway' | (typeof services)[number], i: number): ChildProcess => {
    const { port, metricsPort } = gateways[i] as (typeof gateways)[number];
    const at =
      name === 'gateway'
        ? { PORT: String(port), DATAHUB_METRICS_PORT: String(metricsPort) }
        : { ...own[name], DATAHUB_GRPC_PORT: String(ports[name][i]) };
    const more = {
      catalog: {
        DATAHUB_INTERNAL_PORT: String(internalPorts[i]),
        DATAHUB_METRICS_PORT: String(catalogMetricsPorts[i]),
      },
      executor: { DATAHUB_METRICS_PORT: String(executorMetricsPorts[i]) },
      ml: {},
      gateway: {},
    };
    const child = startService(name, { ...common, ...at, ...more[name] }, output);
    child.once('exit', () => {
      if (running.get(`${name} ${i}`) === child) ended.resolve(name);
    });
    return child;
  };
  for (const name of [...services, 'gateway'] as const) {
    for (const i of each) running.set(`${name} ${i}`, start(name, i));
  }
  const close = () => {
    const children = [...running.values()];
    running.clear();
    return stopAll(children);
  };
  const restart: DistributedHub['restart'] = async (name, i, signal) => {
    const startedAt = performance.now();
    const before = running.get(`${name} ${i}`) as ChildProcess;
    running.delete(`${name} ${i}`);
    await stopAll([before], signal);
    const tookMs = performance.now() - startedAt;
    const child = start(name, i);
    running.set(`${name} ${i}`, child);
    if (name === 'gateway') await untilReady((gateways[i] as { port: number }).port, [child]);
    else await untilListening(ports[name][i] as number);
    return tookMs;
  };
  try {
    for (const { port } of gateways) await untilReady(port, [...running.values()]);
  } catch (err) {
    await close();
    throw err;
  }
  const [first] = gateways as [(typeof gateways)[number]];
  const addresses = {
    catalog: `127.0.0.1:${ports.catalog[0]}`,
    executor: `127.0.0.1:${ports.executor[0]}`,
    ml: `127.0.0.1:${ports.ml[0]}`,
    internal: `127.0.0.1:${internalPorts[0]}`,
  };
  const metrics = { executorMetricsPorts, catalogMetricsPorts };
  const pidOf: DistributedHub['pidOf'] = (name, i) => running.get(`${name} ${i}`)?.pid as number;
  const pids = [...running.values()].map(({ pid }) => pid).filter((pid) => pid !== undefined);
  return { ...first, ...metrics, gateways, addresses, pids, pidOf, restart, ended: ended.promise, close };
}

/** What the environment says for the first gateway, free ones for the rest. */
async function gatewayPorts(env: Environment, replica: number) {
  if (replica > 0) return { port: await freePort(), metricsPort: 0 };
  const port = Number(env.PORT ?? 8080) || (await freePort());
  return { port, metricsPort: Number(env.DATAHUB_METRICS_PORT ?? 9090) };
}

/** Made at the first start, so that every later start, and every service, has the same. */
async function serviceToken(dataDir: string): Promise<string> {
  const path = join(dataDir, 'service-token');
  await writeFile(path, randomBytes(32).toString('hex'), { flag: 'wx', mode: 0o600 }).catch(() => {});
  return (await readFile(path, 'utf8')).trim();
}

function startService(name: string, env: Environment, output: Output): ChildProcess {
  const main = join(root, 'services', name, 'src', 'main.ts');
  return spawn(process.execPath, [...v8Flags, main], {
    stdio: ['ignore', output, output, 'ipc'],
    env: env as NodeJS.ProcessEnv,
  });
}

async function untilReady(port: number, children: ChildProcess[]): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs;
  while (Date.now() < deadline) {
    if (children.some((child) => child.exitCode !== null)) throw new Error('A service ended at its start.');
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      (response) => response.ok,
      () => false,
    );
    if (ready) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`The hub was not ready within ${readyTimeoutMs} ms.`);
}

async function untilListening(port: number): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs;
  const tries = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
  while (!(await tries())) {
    if (Date.now() > deadline) throw new Error(`Nothing listens on port ${port}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The gateway first, so that nothing is asked of services that are gone. */
async function stopAll(children: ChildProcess[], signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
  for (const child of children.toReversed()) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, 'close');
    child.kill(signal);
    const cut = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
    await ended;
    clearTimeout(cut);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { DATAHUB_DATA_DIR: dataDir = 'data', DATAHUB_API_KEY, DATAHUB_SERVICE_TOKEN } = process.env;
  const hub = await startDistributed(process.env);
  const where = (given: string | undefined, file: string) =>
    given === undefined ? join(dataDir, file) : 'its setting';
  const inner = Object.entries(hub.addresses).map(([name, address]) => `${name} ${address}`);
  process.stdout.write(
    `The hub listens on http://127.0.0.1:${hub.port}; the key is in ${where(DATAHUB_API_KEY, 'api-key')}.
Over gRPC: ${inner.join(', ')}; the token is in ${where(DATAHUB_SERVICE_TOKEN, 'service-token')}.
Press Ctrl-C to stop it.\n`,
  );
  const stop = () => hub.close().then(() => process.exit(0));
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  const name = await hub.ended;
  process.stderr.write(`The ${name} service ended: its last lines say why. The others are stopped.\n`);
  await hub.close();
  process.exit(1);
}
