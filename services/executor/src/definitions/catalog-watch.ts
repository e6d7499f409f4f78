/** Watches one replica of the catalog for changes, invalidates what changed, and acknowledges it. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { CatalogInternalServiceService, WatchRequest } from '@datahub/proto/catalog/v1/catalog_internal';
import { onAbort } from '@datahub/service-kit/call/abort';
import type { Calls } from '@datahub/service-kit/call/call';

export interface WatchOptions {
  catalog: Pick<Calls<typeof CatalogInternalServiceService>, 'watch'>;
  /** Identifies this executor to the catalog. */
  instanceId: string;
  /** No old definition may be used once this has returned. */
  invalidate(ids: readonly string[]): void;
  /** Called after `invalidate` if the ids are of deleted documents. */
  onDeleted?(ids: readonly string[]): void;
  /** Called for each message of the catalog. */
  onMessage?(): void;
  /** Called once when a watch breaks, however many attempts it takes to open it again. */
  onLost(err: unknown): void;
  random: () => number;
}

export interface CatalogWatch {
  close(): Promise<void>;
}

const backoffMs = { first: 100, max: 2_000 };

/** Runs until closed. A lost watch only delays changes: the catalog then waits until the leases have expired. */
export function watchCatalog(options: WatchOptions): CatalogWatch {
  const closing = new AbortController();
  const { signal } = closing;
  let reported = false;
  const run = async () => {
    for (let waitMs = backoffMs.first; !signal.aborted; waitMs = Math.min(waitMs * 2, backoffMs.max)) {
      try {
        await watchOnce(options, signal, () => {
          waitMs = backoffMs.first;
          reported = false;
          options.onMessage?.();
        });
      } catch (err) {
        if (!reported && !signal.aborted) options.onLost(err);
        reported = true;
      }
      await sleep(waitMs * (0.5 + options.random() / 2), undefined, { signal }).catch(() => {});
    }
  };
  const running = run();
  return {
    close: async () => {
      closing.abort();
      await running;
    },
  };
}

async function watchOnce(options: WatchOptions, signal: AbortSignal, onMessage: () => void): Promise<void> {
  const requests = createRequests(options.instanceId);
  using _listening = onAbort(signal, () => requests.end());
  const ctx = { requestId: options.instanceId, deadlineAt: Number.POSITIVE_INFINITY, signal };
  try {
    for await (const { sequence, changed, deleted } of options.catalog.watch(requests.iterate(), ctx)) {
      onMessage();
      if (changed.length > 0) options.invalidate(changed);
      if (deleted) options.onDeleted?.(changed);
      if (sequence > 0) requests.acknowledge(sequence);
    }
  } finally {
    requests.end();
  }
}

/** The executor's side of the stream: its name, then acknowledgements, of which only the latest is sent. */
function createRequests(instanceId: string) {
  let acknowledged = 0;
  let sent = 0;
  let ended = false;
  let wake = () => {};
  async function* iterate(): AsyncIterable<WatchRequest> {
    yield { instanceId, acknowledged: 0 };
    while (!ended) {
      if (acknowledged > sent) {
        sent = acknowledged;
        yield { instanceId, acknowledged };
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }
  return {
    iterate,
    acknowledge: (sequence: number) => {
      acknowledged = sequence;
      wake();
    },
    end: () => {
      ended = true;
      wake();
    },
  };
}
