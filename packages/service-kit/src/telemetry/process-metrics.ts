/** What every Node process tells of itself, under the names that prom-client gives it. */

import { collectDefaultMetrics, Registry } from 'prom-client';

/**
 * How often the lag of the event loop is looked at. Its figures hold this pause too, so that 0.05 s is no lag. At the
 * usual hundred times a second a process that rests took close to 1 % of a processor.
 */
const lagEveryMs = 50;

export function createProcessRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagEveryMs });
  return registry;
}
