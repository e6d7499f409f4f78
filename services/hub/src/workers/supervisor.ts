/**
 * `npm start -- --workers N`: an owner (catalog and ml with their files, the operator's socket, the demo, sign-in) and N
 * workers (gateway and executor together), which are replicas of one another on one port. This process opens the port,
 * restarts processes that end, and sums their metrics.
 */

import cluster from 'node:cluster';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createClosers } from '@datahub/service-kit/closers';
import type { RunningService } from '@datahub/service-kit/process/lifecycle';
import { warnOfUnknownSettings } from '@datahub/service-kit/process/unknown-settings';
import type { Environment } from '@datahub/service-kit/settings/settings';
import { cannotListen } from '@datahub/service-kit/settings/start-failure';
import { createLogger } from '@datahub/service-kit/telemetry/logger';
import { serveMetrics } from '@datahub/service-kit/telemetry/metrics';
import { createProcessRegistry } from '@datahub/service-kit/telemetry/process-metrics';
import { v8Flags } from '../../../../packages/service-kit/v8-flags.mjs';
import { storeUrl, urlOf } from '../access.ts';
import { readHubSettings } from '../hub-settings.ts';
import { startProgram } from '../processes.ts';
import { loadSealingKeys } from '../sealing-keys.ts';
import { forkWorker } from './fork-worker.ts';
import { type KeptProcess, keepRunning } from './kept-process.ts';
import { createMetricSums, type MetricSums } from './metric-sums.ts';
import { planProcesses } from './plan.ts';

const pathOf = (name: string) => fileURLToPath(new URL(`${name}.ts`, import.meta.url));
/** Below the time that Prometheus waits. A process that takes longer is shown as it was before. */
const metricsTimeoutMs = 3_000;
/** Beyond the drain time: for closing connections and files. */
const closeTimeoutMs = 10_000;

export async function startSupervisor(
  env: Environment,
  count: number,
  serves: (service: RunningService) => void,
): Promise<RunningService> {
  const settings = readHubSettings(env);
  const { dataDir, gateway } = settings;
  const logger = createLogger({ service: 'supervisor', ...settings.log });
  warnOfUnknownSettings(env, logger);
  const port = await requireFreePort(gateway.host, gateway.port);
  const keys = await loadSealingKeys({ dataDir, storeUrl: settings.catalog.storeUrl, logger });
  const plan = await planProcesses(settings, { count, port, privateKeys: keys.privateKeys });

  const sums = createMetricSums();
  const keep = (
    name: string,
    options: Pick<Parameters<typeof keepRunning>[0], 'fork' | 'answers' | 'onStarted'>,
  ) => keepRunning({ name, logger, onEnded: () => sums.ended(name), ...options });
  let serving = false;
  const owner = keep('owner', {
    fork: () => startProgram(pathOf('owner'), { ...env, ...plan.owner }),
    onStarted: (ask) => serving && void ask('greet').catch(() => {}),
  });
  // The workers accept. This process would accept all that comes, however much they have yet to take.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({ exec: pathOf('worker'), args: [], execArgv: v8Flags });
  const answers = {
    owner: () => owner.started,
    redeem: (code: string) => owner.ask('redeem', code),
  };
  const workers = plan.workers.map((own, i) =>
    keep(`worker-${i + 1}`, { fork: () => forkWorker(own), answers }),
  );

  const closers = createClosers();
  const graceMs = gateway.drainMs + closeTimeoutMs;
  closers.add({ close: () => owner.stop(graceMs) });
  closers.add({ close: async () => void (await Promise.all(workers.map((one) => one.stop(graceMs)))) });
  // The first worker serves while others start.
  serves({ close: closers.close });
  try {
    await Promise.all([owner, ...workers].map(({ started }) => started));
    const processes = new Map([
      ['owner', owner],
      ...workers.map((one, i) => [`worker-${i + 1}`, one] as const),
    ]);
    const read = createReader(sums, processes);
    closers.add(
      await serveMetrics(read, { host: gateway.host, port: gateway.metricsPort, ofProcess: false }),
    );
    closers.add(await storeUrl(dataDir, urlOf(gateway.host, port)));
  } catch (err) {
    await closers.close();
    throw err;
  }
  serving = true;
  // If the owner ends meanwhile, it greets after its next start.
  await owner.ask('greet').catch(() => {});
  return { close: closers.close };
}

/** Asks all processes at the same time. */
function createReader(sums: MetricSums, processes: ReadonlyMap<string, KeptProcess>) {
  const own = createProcessRegistry();
  return async (): Promise<string> => {
    await Promise.all(
      [...processes].map(async ([name, { ask }]) => {
        const text = await ask('metrics', undefined, metricsTimeoutMs).catch(() => undefined);
        if (typeof text === 'string') sums.read(name, text);
      }),
    );
    sums.read('supervisor', await own.metrics());
    return sums.render();
  };
}

/** Returns the port, or a free one for port 0. */
async function requireFreePort(host: string, port: number): Promise<number> {
  const server = createServer().listen(port, host);
  await once(server, 'listening').catch((err) => {
    throw cannotListen('PORT', err);
  });
  const { port: free } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return free;
}
