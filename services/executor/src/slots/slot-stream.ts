/** Keeps a stream to one replica of the catalog open, and carries the messages of the slots over it. */

import type {
  CatalogInternalServiceService,
  LeaseSlotsRequest,
} from '@datahub/proto/catalog/v1/catalog_internal';
import type { Calls } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { isUnimplemented } from '@datahub/service-kit/grpc/error-status';
import type { SlotBook, SlotLink } from './slot-book.ts';
import type { SlotUse } from './source-slots.ts';

export interface SlotStreamOptions {
  catalog: Pick<Calls<typeof CatalogInternalServiceService>, 'leaseSlots'>;
  /** Identifies this executor to the catalog. */
  instanceId: string;
  book: SlotBook;
  random: () => number;
}

export interface SlotStream {
  /** Says that this executor leaves. Call it when all connections are closed. */
  close(): Promise<void>;
}

const backoffMs = { first: 100, max: 2_000 };
/** The time for the catalog to read that this executor leaves. */
const farewellMs = 1_000;

/** Runs until closed. */
export function leaseSlots(options: SlotStreamOptions): SlotStream {
  const { book } = options;
  const closing = new AbortController();
  const { signal } = closing;
  let current: Requests | undefined;
  const run = async () => {
    for (let waitMs = backoffMs.first; !signal.aborted; waitMs = Math.min(waitMs * 2, backoffMs.max)) {
      const requests = new Requests(options.instanceId);
      current = requests;
      try {
        await runOnce(options, requests, () => {
          waitMs = backoffMs.first;
        });
      } catch (err) {
        if (isUnimplemented(err)) book.allowAll();
      }
      await pause(waitMs * (0.5 + options.random() / 2), signal);
    }
  };
  const running = run();
  return {
    close: async () => {
      closing.abort();
      current?.leave();
      const timer = setTimeout(() => current?.restart(), farewellMs);
      await running;
      clearTimeout(timer);
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}

async function runOnce(
  { catalog, instanceId, book }: SlotStreamOptions,
  requests: Requests,
  onMessage: () => void,
): Promise<void> {
  const ctx = { requestId: instanceId, deadlineAt: Number.POSITIVE_INFINITY, signal: requests.signal };
  let joined = 0;
  book.open(requests);
  try {
    for await (const { epoch, leaseMs, changes } of catalog.leaseSlots(requests.iterate(), ctx)) {
      onMessage();
      if (requests.signal.aborted) return;
      if (epoch !== joined && !book.greeted(requests, { epoch, leaseMs })) return;
      joined = epoch;
      book.changed(requests, changes);
    }
  } finally {
    book.closed(requests);
    requests.restart();
  }
}

/** What waits to be sent. Changes of one source are merged, so this is bounded by the executor's sources. */
class Requests implements SlotLink {
  readonly #instanceId: string;
  readonly #abort = new AbortController();
  readonly #uses = new Map<string, SlotUse>();
  #epoch: number | undefined;
  #beats = false;
  #leaving = false;
  #wake = () => {};

  constructor(instanceId: string) {
    this.#instanceId = instanceId;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  send(uses: SlotUse[], epoch?: number): void {
    if (epoch !== undefined) {
      this.#uses.clear();
      this.#epoch = epoch;
    }
    for (const use of uses) {
      const before = this.#uses.get(use.sourceId);
      const { held = use.held, returned = 0 } = before ?? {};
      // A report that was not sent yet has not counted what is given back.
      const isUnsent = this.#epoch !== undefined && before !== undefined;
      this.#uses.set(use.sourceId, {
        ...use,
        held: isUnsent ? held - use.returned : held,
        returned: isUnsent ? 0 : returned + use.returned,
      });
    }
    this.#wake();
  }

  beat(): void {
    this.#beats = true;
    this.#wake();
  }

  leave(): void {
    this.#leaving = true;
    this.#wake();
  }

  restart(): void {
    this.#abort.abort(new HubError('CANCELLED', 'The stream is opened again.'));
    this.#wake();
  }

  async *iterate(): AsyncIterable<LeaseSlotsRequest> {
    const nothing = { instanceId: '', sources: [], leaving: false };
    yield { ...nothing, instanceId: this.#instanceId };
    while (!this.signal.aborted) {
      if (this.#uses.size > 0 || this.#epoch !== undefined || this.#beats) {
        const sources = [...this.#uses.values()];
        const epoch = this.#epoch;
        this.#uses.clear();
        this.#epoch = undefined;
        this.#beats = false;
        yield { ...nothing, epoch, sources };
      } else if (this.#leaving) {
        yield { ...nothing, leaving: true };
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
