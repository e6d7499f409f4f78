/** The start of a service whose store is another server: it may come later, and is waited for. */

import { setTimeout as sleep } from 'node:timers/promises';
import { HubError } from '../call/error.ts';
import type { ServedService } from '../grpc/server.ts';
import { createThrottle } from '../telemetry/log-throttle.ts';
import type { Logger } from '../telemetry/logger.ts';

export interface StoreWait {
  logger: Logger;
  /** An embedded store that cannot be opened is not going to come: what is in its way is here, and told at once. */
  isAwaited: boolean;
  /**
   * Called when the store is found to be away, or takes long, as after an upgrade it may: what asks how the service is
   * doing should have an answer. May come twice.
   */
  onAway?: () => Promise<unknown>;
  longMs?: number;
  delayMinMs?: number;
  delayMaxMs?: number;
}

const tellEveryMs = 60_000;

/**
 * What `open` gives, however long its store is away. Rejects at once with what waiting cannot mend: a refused log-in, a
 * URL that is none, a newer format.
 */
export async function openWithStore<T>(open: () => Promise<T>, options: StoreWait): Promise<T> {
  const { logger, onAway, longMs = 5_000, delayMinMs = 250, delayMaxMs = 5_000 } = options;
  const isTold = createThrottle(tellEveryMs);
  const startedAt = performance.now();
  for (let attempt = 0; ; attempt++) {
    // What fails here fails again where it is waited for.
    const long = setTimeout(() => onAway?.().catch(() => {}), longMs);
    try {
      const opened = await open();
      const waitedMs = Math.round(performance.now() - startedAt);
      if (attempt > 0) logger.info({ event: 'store.reached', waitedMs }, 'the store can be reached now');
      return opened;
    } catch (err) {
      const mayPass = err instanceof HubError && (isAway(err) || err.code === 'OUTCOME_UNKNOWN');
      if (!options.isAwaited || !mayPass) throw err;
      if (attempt === 0) await onAway?.();
      const cause = err.cause instanceof Error ? err.cause.message : err.message;
      if (isTold(cause)) {
        logger.warn(
          { event: 'store.awaited', cause },
          `the store cannot be reached: ${cause}. It is tried again until it can be; check MongoDB, the network to it and DATAHUB_STORE_URL`,
        );
      }
      await sleep(Math.min(delayMinMs * 2 ** attempt, delayMaxMs));
    } finally {
      clearTimeout(long);
    }
  }
}

const isAway = (err: HubError) => err.code === 'UNAVAILABLE' && err.retryable === true;

export function isAwaited(storeUrl: string): boolean {
  return storeUrl.startsWith('mongodb');
}

type AnyCall = (...args: unknown[]) => unknown;

/** A service that is not there before its store is: until `find` gives its calls they are refused. */
export function lateService(definition: object, find: () => object | undefined): ServedService {
  const calls = Object.keys(definition).map((name): [string, AnyCall] => [
    name,
    (...args) => {
      const found = find() as Record<string, AnyCall> | undefined;
      if (found !== undefined) return found[name]?.(...args);
      const again = { retryable: true, retryAfterMs: 1_000 };
      throw new HubError('UNAVAILABLE', 'The store cannot be reached now.', again);
    },
  ]);
  return { definition, handlers: Object.fromEntries(calls) };
}
