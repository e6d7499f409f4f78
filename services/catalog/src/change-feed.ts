/**
 * Sends executors the ids of changed documents. A change is answered only when no executor uses the old state: every
 * watcher has acknowledged the change, or the leases given before it have expired.
 */

import type { WatchRequest, WatchResponse } from '@datahub/proto/catalog/v1/catalog_internal';
import { onAbort } from '@datahub/service-kit/call/abort';
import type { CallSignal } from '@datahub/service-kit/call/call';

export interface ChangeFeed {
  /** Resolves when the change is in force everywhere. */
  publish(ids: string[], options?: { deleted: boolean }): Promise<void>;
  watch(requests: AsyncIterable<WatchRequest>, signal: CallSignal): AsyncIterable<WatchResponse>;
  /** Ends all watches. */
  close(): void;
}

interface Watcher {
  pending: WatchResponse[];
  acknowledged: number;
  wake: () => void;
  closed: boolean;
}

export interface ChangeFeedOptions {
  instanceId: string;
  leaseMs: number;
  /** True if executors with leases may watch another replica. Then every change waits for the leases to expire. */
  mayMissHolders: () => boolean;
  /** True if executors may still have leases from a process that ran before this one. */
  holdersBefore?: boolean | undefined;
}

export function createChangeFeed(options: ChangeFeedOptions): ChangeFeed {
  const watchers = new Set<Watcher>();
  const waiting = new Set<() => void>();
  let sequence = 0;
  let lastLossAt = options.holdersBefore ? performance.now() : Number.NEGATIVE_INFINITY;
  let closed = false;

  const settle = () => {
    for (const check of waiting) check();
  };

  const isReleasedByAll = (upTo: number) =>
    !options.mayMissHolders() &&
    performance.now() - lastLossAt > options.leaseMs &&
    [...watchers].every((watcher) => watcher.acknowledged >= upTo);

  return {
    publish: (ids, { deleted } = { deleted: false }) => {
      const mine = ++sequence;
      for (const watcher of watchers) {
        watcher.pending.push({ sequence: mine, instanceId: '', changed: ids, deleted });
        watcher.wake();
      }
      return new Promise((resolve) => {
        if (isReleasedByAll(mine)) return resolve();
        const check = () => {
          if (isReleasedByAll(mine)) done();
        };
        const done = () => {
          clearTimeout(timer);
          waiting.delete(check);
          resolve();
        };
        const timer = setTimeout(done, options.leaseMs);
        waiting.add(check);
      });
    },

    watch: async function* (requests, signal) {
      const watcher: Watcher = { pending: [], acknowledged: sequence, wake: () => {}, closed };
      watchers.add(watcher);
      const end = () => {
        watcher.closed = true;
        watcher.wake();
      };
      using _listening = onAbort(signal, end);
      readAcknowledgements(requests, watcher, settle).then(end, end);
      try {
        yield { sequence: 0, instanceId: options.instanceId, changed: [], deleted: false };
        while (!watcher.closed && !closed) {
          const next = watcher.pending.shift();
          if (next) yield next;
          else await new Promise<void>((wake) => Object.assign(watcher, { wake }));
        }
      } finally {
        watchers.delete(watcher);
        // The executor may still have leases, so every change waits for one lease duration from now.
        lastLossAt = performance.now();
      }
    },

    close: () => {
      closed = true;
      for (const watcher of watchers) watcher.wake();
    },
  };
}

async function readAcknowledgements(
  requests: AsyncIterable<WatchRequest>,
  watcher: Watcher,
  settle: () => void,
): Promise<void> {
  for await (const request of requests) {
    if (request.acknowledged > watcher.acknowledged) {
      watcher.acknowledged = request.acknowledged;
      settle();
    }
  }
}
