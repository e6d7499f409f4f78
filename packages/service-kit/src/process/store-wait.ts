/** Starts a service whose store is a separate server, and waits for that server. */

import { setTimeout as sleep } from 'node:timers/promises';
import { HubError } from '../call/error.ts';
import type { ServedService } from '../grpc/server.ts';
import { createThrottle } from '../telemetry/log-throttle.ts';
import type { Logger } from '../telemetry/logger.ts';

export interface StoreWait {
  logger: Logger;
  /** False for an embedded store: if it cannot be opened, waiting does not help. */
  isAwaited: boolean;
  /**
   * Called when the store is unavailable, or takes long to open (after an upgrade it may), so that the service can open
   * its health endpoints. May be called twice.
   */
  onUnavailable?: () => Promise<unknown>;
  longMs?: number;
  delayMinMs?: number;
  delayMaxMs?: number;
}

const logEveryMs = 60_000;

/**
 * Calls `open` until the store is available, without a time limit. Rejects at once for faults that waiting does not cure:
 * a rejected login, an invalid URL, a newer format.
 */
export async function openWithStore<T>(open: () => Promise<T>, options: StoreWait): Promise<T> {
  const { logger, onUnavailable, longMs = 5_000, delayMinMs = 250, delayMaxMs = 5_000 } = options;
  const mayLog = createThrottle(logEveryMs);
  const startedAt = performance.now();
  for (let attempt = 0; ; attempt++) {
    // A failure repeats in the call that is awaited below.
    const long = setTimeout(() => onUnavailable?.().catch(() => {}), longMs);
    try {
      const opened = await open();
      const waitedMs = Math.round(performance.now() - startedAt);
      if (attempt > 0) logger.info({ event: 'store.reached', waitedMs }, 'the store is available');
      return opened;
    } catch (err) {
      const isTransient = err instanceof HubError && (isUnavailable(err) || err.code === 'OUTCOME_UNKNOWN');
      if (!options.isAwaited || !isTransient) throw err;
      if (attempt === 0) await onUnavailable?.();
      const cause = err.cause instanceof Error ? err.cause.message : err.message;
      if (mayLog(cause)) {
        logger.warn(
          { event: 'store.awaited', cause },
          `the store cannot be reached: ${cause}. The service retries until it can be; check MongoDB, the network and DATAHUB_STORE_URL`,
        );
      }
      await sleep(Math.min(delayMinMs * 2 ** attempt, delayMaxMs));
    } finally {
      clearTimeout(long);
    }
  }
}

const isUnavailable = (err: HubError) => err.code === 'UNAVAILABLE' && err.retryable === true;

export function isAwaited(storeUrl: string): boolean {
  return storeUrl.startsWith('mongodb');
}

type AnyCall = (...args: unknown[]) => unknown;

/** A service that rejects calls with UNAVAILABLE until `find` returns its implementation. */
export function lateService(definition: object, find: () => object | undefined): ServedService {
  const calls = Object.keys(definition).map((name): [string, AnyCall] => [
    name,
    (...args) => {
      const found = find() as Record<string, AnyCall> | undefined;
      if (found !== undefined) return found[name]?.(...args);
      const options = { retryable: true, retryAfterMs: 1_000 };
      throw new HubError('UNAVAILABLE', 'The store cannot be reached. Try again.', options);
    },
  ]);
  return { definition, handlers: Object.fromEntries(calls) };
}
