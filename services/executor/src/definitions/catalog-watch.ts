/** Follows one catalog replica's news of changes, and says what was let go. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { CatalogInternalServiceService, WatchRequest } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Calls } from '@datahub/service-kit/call/call';

export interface WatchOptions {
  catalog: Pick<Calls<typeof CatalogInternalServiceService>, 'watch'>;
  /** Names this executor to the catalog. */
  instanceId: string;
  letGo(ids: readonly string[]): void;
  /** The catalog answers. */
  onOpen?(): void;
  /** Hears once of a watch that broke, however often it takes to open it again. */
  onLost(err: unknown): void;
  random: () => number;
}

export interface CatalogWatch {
  close(): Promise<void>;
}

const backoffMs = { first: 100, max: 2_000 };

/** Runs until closed. A lost watch costs nothing but speed: the catalog waits until the leases have run out. */
export function watchCatalog(options: WatchOptions): CatalogWatch {
  const closing = new AbortController();
  const { signal } = closing;
  let told = false;
  const run = async () => {
    for (let waitMs = backoffMs.first; !signal.aborted; waitMs = Math.min(waitMs * 2, backoffMs.max)) {
      try {
        await follow(options, signal, () => {
          waitMs = backoffMs.first;
          told = false;
          options.onOpen?.();
        });
      } catch (err) {
        if (!told && !signal.aborted) options.onLost(err);
        told = true;
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

async function follow(options: WatchOptions, signal: AbortSignal, onOpen: () => void): Promise<void> {
  const requests = createRequests(options.instanceId);
  const end = () => requests.end();
  signal.addEventListener('abort', end, { once: true });
  const ctx = { requestId: options.instanceId, deadlineAt: Number.POSITIVE_INFINITY, signal };
  try {
    for await (const { sequence, changed } of options.catalog.watch(requests.iterate(), ctx)) {
      onOpen();
      if (changed.length > 0) options.letGo(changed);
      if (sequence > 0) requests.acknowledge(sequence);
    }
  } finally {
    signal.removeEventListener('abort', end);
    requests.end();
  }
}

/** The stream of our side: who we are, then the highest sequence let go of, skipping what was overtaken. */
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
