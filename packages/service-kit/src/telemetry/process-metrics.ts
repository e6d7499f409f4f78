/** Metrics of the Node process, under prom-client's names. */

import { collectDefaultMetrics, Registry } from 'prom-client';

/**
 * The sampling interval for event loop lag. The metric includes the interval, so 0.05 s means no lag. With the default of
 * 10 ms an idle process takes close to 1 % of a CPU.
 */
const lagIntervalMs = 50;

export function createProcessRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagIntervalMs });
  return registry;
}
