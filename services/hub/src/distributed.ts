/**
 * Runs the four services as separate processes on this machine, connected by gRPC. `npm run start:distributed` starts them
 * and prints their addresses (`-- --gateways 2 --executors 2`: several of these, and of `--catalogs` and `--ml`); tests
 * call `startDistributed` with their own settings.
 */

import type { ChildProcess } from 'node:child_process';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadKeyFile, publicKeyOf } from '@datahub/sealing/key-pair';
import { createDirectory } from '@datahub/service-kit/process/create-directory';
import { freePort } from '@datahub/service-kit/process/free-port';
import type { Environment } from '@datahub/service-kit/settings/settings';
import { type Output, serviceToken, startProgram, stopProcess } from './processes.ts';

export interface DistributedHub {
  /** The port of the first gateway. */
  port: number;
  gateways: GatewayPorts[];
  metricsPort: number;
  /** Of each service's first replica; `internal` is the catalog's port for executors. */
  addresses: Record<BackService | 'internal', string>;
  /** The processes that were started first. */
  pids: number[];
  /** The process that runs a replica now. */
  pidOf(service: Service, replica: number): number;
  executorMetricsPorts: number[];
  catalogMetricsPorts: number[];
  mlMetricsPorts: number[];
  /** Stops a replica and starts it again. Resolves once it serves, with the milliseconds that the stop took. */
  restart(service: Service, replica: number, signal?: 'SIGTERM' | 'SIGKILL'): Promise<number>;
  /** Resolves with the name of a service that ended without being stopped. */
  ended: Promise<string>;
  close(): Promise<void>;
}

const root = fileURLToPath(new URL('../../..', import.meta.url));
const listenTimeoutMs = 120_000;
const stopTimeoutMs = 30_000;

const services = ['catalog', 'executor', 'ml'] as const;
type BackService = (typeof services)[number];
type Service = 'gateway' | BackService;

interface GatewayPorts {
  port: number;
  metricsPort: number;
}

export interface StartOptions {
  /**
   * The number of replicas of each service, or of those that have more than one. Several of catalog or ml need a store that
   * several processes can share.
   */
  replicas?: number | Partial<Record<Service, number>>;
  /** Stops the start. */
  signal?: AbortSignal;
}

/**
 * Resolves when all gateways are ready, however long that takes. `output` is where the logs go; a number is an open file.
 */
export async function startDistributed(
  env: Environment,
  output: Output = 'inherit',
  { replicas = 1, signal }: StartOptions = {},
): Promise<DistributedHub> {
  const countOf = (name: Service) => (typeof replicas === 'number' ? replicas : (replicas[name] ?? 1));
  const plan = await planDistributed(env, countOf);
  const { gateways, ports, internalPorts, executorMetricsPorts, catalogMetricsPorts, mlMetricsPorts } = plan;
  const running = new Map<string, ChildProcess>();
  const ended = Promise.withResolvers<string>();
  const start = (name: Service, i: number): ChildProcess => {
    const main = join(root, 'services', name, 'src', 'main.ts');
    const child = startProgram(main, plan.environmentOf(name, i), output);
    running.set(`${name} ${i}`, child);
    child.once('exit', () => {
      if (running.get(`${name} ${i}`) === child) ended.resolve(name);
    });
    return child;
  };
  const close = () => {
    const children = [...running.values()];
    running.clear();
    return stopAll(children);
  };
  for (const name of [...services, 'gateway'] as const) {
    for (let i = 0; i < countOf(name); i++) start(name, i);
  }
  try {
    for (const { port } of gateways) await untilReady(port, [...running.values()], signal);
  } catch (err) {
    await close();
    throw err;
  }
  const [first] = gateways as [GatewayPorts];
  return {
    ...first,
    gateways,
    executorMetricsPorts,
    catalogMetricsPorts,
    mlMetricsPorts,
    addresses: {
      catalog: `127.0.0.1:${ports.catalog[0]}`,
      executor: `127.0.0.1:${ports.executor[0]}`,
      ml: `127.0.0.1:${ports.ml[0]}`,
      internal: `127.0.0.1:${internalPorts[0]}`,
    },
    pids: [...running.values()].map(({ pid }) => pid).filter((pid) => pid !== undefined),
    pidOf: (name, i) => running.get(`${name} ${i}`)?.pid as number,
    restart: async (name, i, signal) => {
      const startedAt = performance.now();
      const before = running.get(`${name} ${i}`) as ChildProcess;
      running.delete(`${name} ${i}`);
      await stopAll([before], signal);
      const stopMs = performance.now() - startedAt;
      const child = start(name, i);
      if (name === 'gateway') await untilReady((gateways[i] as GatewayPorts).port, [child]);
      else await untilListening(ports[name][i] as number);
      return stopMs;
    },
    ended: ended.promise,
    close,
  };
}

/** Chooses the ports, and the environment of each replica. */
async function planDistributed(env: Environment, countOf: (name: Service) => number) {
  const dataDir = env.DATAHUB_DATA_DIR ?? 'data';
  createDirectory(dataDir);
  const privateKeys = await loadKeyFile(join(dataDir, 'sealing-keys'));
  const publicKeys = await Promise.all(privateKeys.map(publicKeyOf));
  const forEach = <T>(name: Service, make: (i: number) => Promise<T>) =>
    Promise.all(Array.from({ length: countOf(name) }, (_, i) => make(i)));
  const freePorts = (name: Service) => forEach(name, freePort);
  const ports = {
    catalog: await freePorts('catalog'),
    executor: await freePorts('executor'),
    ml: await freePorts('ml'),
  };
  const internalPorts = await freePorts('catalog');
  const gateways = await forEach('gateway', (i) => gatewayPorts(env, i));
  const executorMetricsPorts = await freePorts('executor');
  const catalogMetricsPorts = await freePorts('catalog');
  const mlMetricsPorts = await freePorts('ml');
  const addresses = (list: number[]) => list.map((port) => `127.0.0.1:${port}`).join(',');
  const common = {
    ...process.env,
    ...env,
    DATAHUB_SERVICE_TOKEN: env.DATAHUB_SERVICE_TOKEN ?? (await serviceToken(dataDir)),
    DATAHUB_CATALOG_ADDRESS: addresses(ports.catalog),
    DATAHUB_CATALOG_INTERNAL_ADDRESS: addresses(internalPorts),
    DATAHUB_EXECUTOR_ADDRESS: addresses(ports.executor),
    DATAHUB_ML_ADDRESS: addresses(ports.ml),
  };
  const own: Record<Service, (i: number) => Environment> = {
    gateway: (i) => ({
      PORT: String(gateways[i]?.port),
      DATAHUB_METRICS_PORT: String(gateways[i]?.metricsPort),
    }),
    catalog: (i) => ({
      DATAHUB_SEALING_PUBLIC_KEYS: publicKeys.join(','),
      DATAHUB_CATALOG_REPLICAS: String(ports.catalog.length),
      DATAHUB_GRPC_PORT: String(ports.catalog[i]),
      DATAHUB_INTERNAL_PORT: String(internalPorts[i]),
      DATAHUB_METRICS_PORT: String(catalogMetricsPorts[i]),
    }),
    executor: (i) => ({
      DATAHUB_SEALING_KEY_FILE: join(dataDir, 'sealing-keys'),
      DATAHUB_SOURCES_LOOPBACK: env.DATAHUB_SOURCES_LOOPBACK ?? '1',
      DATAHUB_SOURCES_PRIVATE: env.DATAHUB_SOURCES_PRIVATE ?? '1',
      DATAHUB_GRPC_PORT: String(ports.executor[i]),
      DATAHUB_METRICS_PORT: String(executorMetricsPorts[i]),
    }),
    ml: (i) => ({
      DATAHUB_METRICS_PORT: String(mlMetricsPorts[i]),
      DATAHUB_GRPC_PORT: String(ports.ml[i]),
    }),
  };
  const environmentOf = (name: Service, i: number): Environment => ({ ...common, ...own[name](i) });
  const metricsPorts = { executorMetricsPorts, catalogMetricsPorts, mlMetricsPorts };
  return { gateways, ports, internalPorts, ...metricsPorts, environmentOf };
}

/** The ports of the environment for the first gateway, and free ones for the others. */
async function gatewayPorts(env: Environment, replica: number): Promise<GatewayPorts> {
  if (replica > 0) return { port: await freePort(), metricsPort: 0 };
  const port = Number(env.PORT ?? 8080) || (await freePort());
  return { port, metricsPort: Number(env.DATAHUB_METRICS_PORT ?? 9090) };
}

async function untilReady(port: number, children: ChildProcess[], signal?: AbortSignal): Promise<void> {
  for (;;) {
    signal?.throwIfAborted();
    if (children.some(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null))
      throw new Error('A service ended during its start.');
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      (response) => response.ok,
      () => false,
    );
    if (ready) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function untilListening(port: number): Promise<void> {
  const deadline = Date.now() + listenTimeoutMs;
  const isListening = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
  while (!(await isListening())) {
    if (Date.now() > deadline) throw new Error(`Nothing listens on port ${port}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Stops gateways first, so that they call no service that has ended. */
async function stopAll(children: ChildProcess[], signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
  for (const child of children.toReversed()) await stopProcess(child, { signal, graceMs: stopTimeoutMs });
}

const usage = `usage: npm run start:distributed -- [--gateways 1..9] [--catalogs 1..9] [--executors 1..9] [--ml 1..9]
Several of catalog or ml need DATAHUB_STORE_URL=mongodb://…, because a SQLite file serves one process.
`;

/** Of the command line. Undefined if it has an unknown argument, or a count that cannot be. */
function readReplicas({
  DATAHUB_STORE_URL: storeUrl = '',
}: Environment): Record<Service, number> | undefined {
  const count = { type: 'string', default: '1' } as const;
  const options = { gateways: count, catalogs: count, executors: count, ml: count };
  try {
    const { values } = parseArgs({ options });
    if (!Object.values(values).every((value) => /^[1-9]$/.test(value))) return undefined;
    const [gateway, catalog, executor, ml] = [values.gateways, values.catalogs, values.executors, values.ml];
    const counts = { gateway: +gateway, catalog: +catalog, executor: +executor, ml: +ml };
    const isShared = storeUrl.startsWith('mongodb');
    return isShared || (counts.catalog === 1 && counts.ml === 1) ? counts : undefined;
  } catch {
    return undefined;
  }
}

async function run(replicas: Record<Service, number>): Promise<void> {
  const { DATAHUB_DATA_DIR: dataDir = 'data', DATAHUB_API_KEY, DATAHUB_SERVICE_TOKEN } = process.env;
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  const { signal } = stopping;
  const hub = await startDistributed(process.env, 'inherit', { replicas, signal }).catch((err) => {
    if (!signal.aborted) process.stderr.write(`${(err as Error).message}\n`);
    process.exit(signal.aborted ? 0 : 1);
  });
  const urls = hub.gateways.map(({ port }) => `http://127.0.0.1:${port}`);
  const placeOf = (setting: string | undefined, file: string) =>
    setting === undefined ? join(dataDir, file) : 'its setting';
  const inner = Object.entries(hub.addresses).map(([name, address]) => `${name} ${address}`);
  process.stdout.write(
    `The hub listens on ${urls.join(', ')}; the key is in ${placeOf(DATAHUB_API_KEY, 'api-key')}.
Over gRPC: ${inner.join(', ')}; the token is in ${placeOf(DATAHUB_SERVICE_TOKEN, 'service-token')}.
Press Ctrl-C to stop it.\n`,
  );
  const stopped = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const name = await Promise.race([hub.ended, stopped]);
  if (name !== undefined)
    process.stderr.write(
      `The ${name} service ended; see its last log lines for the reason. Stopping the others.\n`,
    );
  await hub.close();
  process.exit(name === undefined ? 0 : 1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const replicas = readReplicas(process.env);
  if (replicas === undefined) {
    process.stderr.write(usage);
    process.exit(2);
  }
  await run(replicas);
}
