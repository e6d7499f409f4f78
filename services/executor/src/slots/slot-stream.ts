/** Keeps a stream to one replica of the catalog open, and carries the messages of the slots over it. */

import type {
  CatalogInternalServiceService,
  LeaseSlotsRequest,
} from '@datahub/proto/catalog/v1/catalog_internal';
import { onAbort } from '@datahub/service-kit/call/abort';
import type { Calls } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { isUnimplemented } from '@datahub/service-kit/grpc/error-status';
import type { ReplicaHealth } from '@datahub/service-kit/grpc/replica-health';
import type { SlotBook, SlotLink } from './slot-book.ts';
import type { SlotUse } from './source-slots.ts';

export interface SlotStreamOptions {
  catalog: Pick<Calls<typeof CatalogInternalServiceService>, 'leaseSlots'>;
  /** Of the replica, if it runs in another process. */
  health?: Pick<ReplicaHealth, 'wait' | 'heard'>;
  /** Identifies this executor to the catalog. */
  instanceId: string;
  book: SlotBook;
  random: () => number;
}

export interface SlotStream {
  /** True if the replica owns the slots. */
  readonly isOwned: boolean;
  /** Says that this executor stops, as often as needed. Resolves once the replica has noted it. */
  leave(): Promise<void>;
  close(): Promise<void>;
}

const backoffMs = { first: 100, max: 2_000 };
/** The time for the owner to note that this executor stops, and for any replica. */
const leaveMs = { owner: 1_000, any: 5_000 };
const pollMs = 100;

/**
 * Says that this executor stops and holds nothing, to the owner, or to whichever replica answers first. `all` may grow.
 * Call it when all connections are closed.
 */
export async function handOver(all: () => readonly SlotStream[]): Promise<void> {
  const owner = all().find(({ isOwned }) => isOwned);
  if (owner !== undefined && (await isDone(owner.leave(), leaveMs.owner))) return;
  const end = performance.now() + leaveMs.any;
  while (performance.now() < end && !(await isDone(Promise.race(all().map((one) => one.leave())), pollMs)));
}

async function isDone(work: Promise<void>, withinMs: number): Promise<boolean> {
  const waiting = new AbortController();
  const late = pause(withinMs, waiting.signal).then(() => false);
  const isInTime = await Promise.race([work.then(() => true), late]);
  waiting.abort();
  return isInTime;
}

/** Runs until closed. */
export function leaseSlots(options: SlotStreamOptions): SlotStream {
  const { book } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const left = Promise.withResolvers<void>();
  let isLeaving = false;
  let current: Requests | undefined;
  const run = async () => {
    for (let waitMs = backoffMs.first; !signal.aborted; waitMs = Math.min(waitMs * 2, backoffMs.max)) {
      const requests = new Requests(options);
      current = requests;
      if (isLeaving) requests.leave();
      try {
        const hasLeft = await runOnce(options, requests, () => {
          waitMs = backoffMs.first;
        });
        if (hasLeft) return left.resolve();
      } catch (err) {
        if (isUnimplemented(err)) book.allowAll();
      }
      await pause(waitMs * (0.5 + options.random() / 2), signal);
    }
  };
  const running = run();
  return {
    get isOwned() {
      return book.isOwner(current);
    },
    leave: () => {
      isLeaving = true;
      current?.leave();
      return left.promise;
    },
    close: async () => {
      closing.abort();
      current?.restart();
      await running;
    },
  };
}

/** Ends early, but does not fail, once the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  using _listening = onAbort(signal, resolve);
  const timer = setTimeout(resolve, ms);
  await promise;
  clearTimeout(timer);
}

/** Resolves with true if the replica has noted that this executor stops. */
async function runOnce(
  { catalog, instanceId, book, health }: SlotStreamOptions,
  requests: Requests,
  onMessage: () => void,
): Promise<boolean> {
  const ctx = { requestId: instanceId, deadlineAt: Number.POSITIVE_INFINITY, signal: requests.signal };
  let joined = 0;
  book.open(requests);
  try {
    for await (const { epoch, leaseMs, changes, left } of catalog.leaseSlots(requests.iterate(), ctx)) {
      onMessage();
      health?.heard();
      if (left) return true;
      if (requests.signal.aborted) return false;
      if (epoch !== joined && !book.greeted(requests, { epoch, leaseMs })) return false;
      joined = epoch;
      book.changed(requests, changes);
    }
    return false;
  } finally {
    book.closed(requests);
    requests.restart();
  }
}

/** What waits to be sent. Changes of one source are merged, so this is bounded by the executor's sources. */
class Requests implements SlotLink {
  readonly wait: SlotLink['wait'];
  readonly #instanceId: string;
  readonly #abort = new AbortController();
  readonly #uses = new Map<string, SlotUse>();
  #epoch: number | undefined;
  #beats = false;
  #seeks = false;
  #leaving = false;
  #wake = () => {};

  constructor({ instanceId, health }: SlotStreamOptions) {
    this.#instanceId = instanceId;
    this.wait = (onSilent) => health?.wait(onSilent) ?? (() => {});
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

  seek(): void {
    this.#seeks = true;
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
    const nothing = { instanceId: '', sources: [], leaving: false, ownerless: false };
    yield { ...nothing, instanceId: this.#instanceId };
    while (!this.signal.aborted) {
      if (this.#uses.size > 0 || this.#epoch !== undefined || this.#beats || this.#seeks) {
        const sources = [...this.#uses.values()];
        const epoch = this.#epoch;
        const ownerless = this.#seeks;
        this.#uses.clear();
        this.#epoch = undefined;
        this.#beats = false;
        this.#seeks = false;
        yield { ...nothing, epoch, sources, ownerless };
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
