/** What both ends of a session share: its limits, the watch for a silent peer, the calls in flight and the batches. */

/** The gateway sends an empty message so often, which the executor answers by one. Each gives up after so much silence. */
export const pings = { everyMs: 5_000, silenceMaxMs: 15_000 };

/** Bytes of one answer that may be in flight before the receiver acknowledges some. */
export const windowBytes = 1_048_576;

/**
 * For how many iterations of the event loop a batch collects calls or answers: a message costs as much as several of
 * them. An iteration is as long as the work in it, so on an idle machine this adds no wait.
 */
export function batchIterations(inFlight: number): number {
  return inFlight > 8 ? 6 : 1;
}

/**
 * The most bytes of one message, unless a single call or answer has more. A message becomes one buffer, and whoever keeps
 * the chunk of one answer keeps all of it. gRPC ends the stream, with all its calls, for a message of more than 64 MiB.
 */
export const messageBytesMax = 262_144;

/** Splits a batch into messages. */
export function* toMessages<T>(items: T[], bytesOf: (item: T) => number): Iterable<T[]> {
  let start = 0;
  let bytes = 0;
  for (const [i, item] of items.entries()) {
    const itemBytes = bytesOf(item);
    if (i > start && bytes + itemBytes > messageBytesMax) {
      yield items.slice(start, i);
      start = i;
      bytes = 0;
    }
    bytes += itemBytes;
  }
  yield start === 0 ? items : items.slice(start);
}

export interface SilenceWatch {
  /** The peer has sent something. */
  reset(): void;
  stop(): void;
}

export function watchSilence(onSilence: () => void): SilenceWatch {
  let receivedAt = performance.now();
  const timer = setInterval(() => {
    if (performance.now() - receivedAt > pings.silenceMaxMs) onSilence();
  }, pings.everyMs);
  timer.unref();
  return {
    reset: () => {
      receivedAt = performance.now();
    },
    stop: () => clearInterval(timer),
  };
}

/** A power of two: sequence numbers are consecutive, so calls spread evenly over the buckets. */
const buckets = 256;

/**
 * Calls by sequence number, of which thousands come and go each second. It is no `Map`: when V8 grows a map it links the
 * old table to the new one, so a table in old space keeps all later ones, and every call that was in them, alive until
 * the next full collection.
 */
export class InFlightCalls<T extends { readonly sequence: number }> implements Iterable<T> {
  size = 0;
  readonly #buckets: T[][] = Array.from({ length: buckets }, () => []);

  add(call: T): void {
    this.#bucket(call.sequence).push(call);
    this.size++;
  }

  get(sequence: number): T | undefined {
    return this.#bucket(sequence).find((call) => call.sequence === sequence);
  }

  /** Does nothing if the call is not there. */
  remove(call: T): void {
    const bucket = this.#bucket(call.sequence);
    const index = bucket.indexOf(call);
    if (index === -1) return;
    bucket.splice(index, 1);
    this.size--;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const bucket of this.#buckets) yield* [...bucket];
  }

  #bucket(sequence: number): T[] {
    return this.#buckets[sequence & (buckets - 1)] as T[];
  }
}

/** Collects the items of one or several iterations of the event loop into one batch. */
export interface BatchQueue<T> {
  push(item: T): void;
  /** Makes a waiting `take` return, with an empty batch if there are no items. */
  wake(): void;
  /** `take` returns the remaining items, and undefined after that. */
  close(): void;
  /** Waits until the batch is complete, unless `now`. */
  take(now: boolean): Promise<T[] | undefined>;
}

/** `iterations` is called at the first item of a batch and says for how many iterations the batch is collected. */
export function createBatchQueue<T>(iterations: () => number = () => 1): BatchQueue<T> {
  let items: T[] = [];
  let closed = false;
  let woken = false;
  let waiting: (() => void) | undefined;

  const notify = () => {
    waiting?.();
    waiting = undefined;
  };

  const notifyAfter = (left: number): void => {
    setImmediate(() => (left > 1 ? notifyAfter(left - 1) : notify()));
  };

  return {
    push: (item) => {
      items.push(item);
      if (items.length === 1) notifyAfter(iterations());
    },
    wake: () => {
      woken = true;
      notify();
    },
    close: () => {
      closed = true;
      notify();
    },
    take: async (now) => {
      while (items.length === 0 && !closed && !woken && !now) {
        await new Promise<void>((resolve) => {
          waiting = resolve;
        });
      }
      woken = false;
      const batch = items;
      items = [];
      return batch.length === 0 && closed ? undefined : batch;
    },
  };
}
