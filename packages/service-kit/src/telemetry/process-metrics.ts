/** Metrics of the Node process, under prom-client's names, and the version of the hub. */

import { createRequire } from 'node:module';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

/**
 * The sampling interval for event loop lag. The metric includes the interval, so 0.1 s means no lag. With the default of
 * 10 ms an idle process takes close to 1 % of a CPU.
 */
const lagIntervalMs = 100;

export function createProcessRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagIntervalMs });
  const build = new Gauge({
    name: 'datahub_build_info',
    help: 'The number of processes by version of the hub.',
    labelNames: ['version'],
    registers: [registry],
  });
  build.set({ version }, 1);
  return registry;
}
