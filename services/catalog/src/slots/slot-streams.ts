/** Connects the executors' streams with the ledger, while this replica owns the slots. */

import { sourceLimits } from '@datahub/contract/limits';
import type { LeaseSlotsRequest, LeaseSlotsResponse } from '@datahub/proto/catalog/v1/catalog_internal';
import { onAbort } from '@datahub/service-kit/call/abort';
import type { CallSignal } from '@datahub/service-kit/call/call';
import { type LedgerOptions, SlotLedger } from './slot-ledger.ts';
import type { SlotChange, SlotUse } from './slot-messages.ts';
import type { KnownExecutors, SlotOwner, SlotOwnerOptions } from './slot-owner.ts';

export interface SlotStreams {
  /** Resolves once this replica can grant every slot, or another one owns the slots. */
  readonly settled: Promise<void>;
  lease(requests: AsyncIterable<LeaseSlotsRequest>, signal: CallSignal): AsyncIterable<LeaseSlotsResponse>;
  /** Grants nothing more, lets another replica take over, and ends all streams. */
  close(): Promise<void>;
}

export interface SlotStreamsOptions extends Pick<LedgerOptions, 'leaseMs' | 'servers' | 'now' | 'hasEnded'> {
  openOwner(ledger: Pick<SlotOwnerOptions, 'known' | 'onOwned' | 'onLost' | 'onLeft'>): Promise<SlotOwner>;
  onFailure(err: unknown): void;
}

/** What an executor has to be told. Changes of one source are merged, so this is bounded by its sources. */
class Outbox {
  closed = false;
  /** The executor stops, and no owner waits for it. */
  left = false;
  #greeting: boolean;
  #changes = new Map<string, SlotChange>();
  #wake = () => {};

  constructor() {
    this.#greeting = true;
  }

  /** Begins a new epoch. */
  greet(): void {
    this.#changes.clear();
    this.#greeting = true;
    this.#wake();
  }

  add(sourceId: string, { granted = 0, recalled = 0, contended, blocked = false }: SlotChange): void {
    const before = this.#changes.get(sourceId);
    this.#changes.set(sourceId, {
      granted: (before?.granted ?? 0) + granted,
      recalled: (before?.recalled ?? 0) + recalled,
      blocked,
      ...(before?.contended !== undefined && { contended: before.contended }),
      ...(contended === undefined ? {} : { contended }),
    });
    this.#wake();
  }

  close(): void {
    this.closed = true;
    this.#wake();
  }

  leave(): void {
    this.left = true;
    this.close();
  }

  /** Resolves to undefined once closed. */
  async take(): Promise<LeaseSlotsResponse['changes'] | undefined> {
    while (!this.closed && !this.#greeting && this.#changes.size === 0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    if (this.closed) return undefined;
    this.#greeting = false;
    const changes = [...this.#changes].map(([sourceId, change]) => {
      const { granted = 0, recalled = 0, contended, blocked = false } = change;
      return { sourceId, granted, recalled, contended, blocked };
    });
    this.#changes.clear();
    return changes;
  }
}

interface Stream {
  executorId: string;
  /** The epoch of its last report. */
  epoch: number;
  outbox: Outbox;
}

/** Slots are granted and recalled one by one, so their numbers must be those of a source. */
const slotsMax = sourceLimits.poolConnections.max;

const bounded = (use: SlotUse): SlotUse => {
  const atMost = (count: number) => Math.min(count, slotsMax);
  const { max, held, returned, wanted } = use;
  return { ...use, max: atMost(max), held: atMost(held), returned: atMost(returned), wanted: atMost(wanted) };
};

const tickMs = 250;
/** The pause between ticks while nobody waits for anything, as a share of the lease. */
const restShare = 1 / 30;

export async function openSlotStreams(options: SlotStreamsOptions): Promise<SlotStreams> {
  const streams = new Streams(options);
  await streams.open();
  return streams;
}

class Streams implements SlotStreams {
  readonly settled: Promise<void>;
  readonly #options: SlotStreamsOptions;
  readonly #streams = new Set<Stream>();
  #ledger: SlotLedger | undefined;
  #owner: SlotOwner | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The next tick is later than usual. */
  #isResting = false;
  #closed = false;
  readonly #settle: () => void;

  constructor(options: SlotStreamsOptions) {
    this.#options = options;
    ({ promise: this.settled, resolve: this.#settle } = Promise.withResolvers<void>());
  }

  async open(): Promise<void> {
    this.#owner = await this.#options.openOwner({
      known: () => this.#known(),
      onOwned: (known) => this.#begin(known),
      onLost: () => this.#end(),
      onLeft: (id) => this.#ledger?.left(id),
    });
    if (this.#owner.epoch > 0 && this.#ledger === undefined)
      this.#begin({ executors: [], lost: [], settled: true });
    this.#tick();
  }

  async *lease(
    requests: AsyncIterable<LeaseSlotsRequest>,
    signal: CallSignal,
  ): AsyncIterable<LeaseSlotsResponse> {
    const { leaseMs } = this.#options;
    const stream: Stream = { executorId: '', epoch: 0, outbox: new Outbox() };
    this.#streams.add(stream);
    if (this.#closed) stream.outbox.close();
    const end = () => stream.outbox.close();
    using _listening = onAbort(signal, end);
    // A stream that breaks is no failure: the executor opens it again.
    this.#read(stream, requests).then(end, end);
    try {
      for (;;) {
        const changes = await stream.outbox.take();
        const epoch = this.#owner?.epoch ?? 0;
        if (changes !== undefined) yield { epoch, leaseMs, changes, left: false };
        else if (stream.outbox.left) return yield { epoch, leaseMs, changes: [], left: true };
        else return;
      }
    } finally {
      this.#streams.delete(stream);
      const isLast = !this.#executorsOfStreams().includes(stream.executorId);
      if (isLast && this.#isJoined(stream)) {
        this.#ledger?.lost(stream.executorId);
        this.#watch();
        void this.#owner?.update();
      }
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#owner?.close();
    for (const { outbox } of this.#streams) outbox.close();
  }

  #tick(): void {
    this.#ledger?.tick();
    const isSettled = this.#ledger?.isSettled || this.#owner?.isFollowing;
    if (isSettled) this.#settle();
    this.#isResting = isSettled === true && this.#isQuiet;
    this.#wait();
  }

  get #isQuiet(): boolean {
    return this.#ledger === undefined || this.#ledger.isQuiet;
  }

  #wait(): void {
    const { leaseMs } = this.#options;
    const pauseMs = this.#isResting ? Math.max(tickMs, leaseMs * restShare) : tickMs;
    clearTimeout(this.#timer);
    if (!this.#closed) this.#timer = setTimeout(() => this.#tick(), pauseMs).unref();
  }

  /** Somebody may wait for something now. */
  #watch(): void {
    if (!this.#isResting || this.#isQuiet) return;
    this.#isResting = false;
    this.#wait();
  }

  #begin({ executors: known, lost }: KnownExecutors): void {
    const mayGrant = () => !this.#closed && this.#owner?.mayGrant === true;
    this.#ledger = new SlotLedger({ ...this.#options, known, lost, mayGrant });
    for (const { outbox } of this.#streams) outbox.greet();
    this.#watch();
  }

  #end(): void {
    this.#ledger = undefined;
    for (const { outbox } of this.#streams) outbox.greet();
  }

  #known(): KnownExecutors {
    const { executors = [], lostExecutors: lost = [], isSettled: settled = false } = this.#ledger ?? {};
    return { executors: [...executors, ...this.#executorsOfStreams()], lost, settled };
  }

  #executorsOfStreams(): string[] {
    return [...this.#streams].map(({ executorId }) => executorId).filter((id) => id !== '');
  }

  #isJoined({ epoch }: Stream): boolean {
    return epoch > 0 && epoch === this.#owner?.epoch;
  }

  async #read(stream: Stream, requests: AsyncIterable<LeaseSlotsRequest>): Promise<void> {
    for await (const { instanceId, epoch, sources: given, leaving, ownerless } of requests) {
      const sources = given.map(bounded);
      if (stream.executorId === '') stream.executorId = instanceId;
      // The loop goes on, because leaving it would destroy the stream before the answer.
      if (leaving) await this.#leave(stream);
      if (ownerless) void this.#owner?.look();
      if (epoch !== undefined) await this.#join(stream, epoch, sources);
      const ledger = this.#ledger;
      if (ledger === undefined || !this.#isJoined(stream)) continue;
      ledger.heard(stream.executorId);
      if (epoch === undefined && sources.length > 0) ledger.update(stream.executorId, sources);
      this.#watch();
    }
  }

  async #leave(stream: Stream): Promise<void> {
    const { executorId } = stream;
    // It is not among the known executors any more.
    stream.executorId = '';
    this.#ledger?.left(executorId);
    try {
      await this.#owner?.forget(executorId);
      stream.outbox.leave();
    } catch (err) {
      this.#options.onFailure(err);
    }
  }

  async #join(stream: Stream, epoch: number, sources: SlotUse[]): Promise<void> {
    const ledger = this.#ledger;
    const { executorId, outbox } = stream;
    if (ledger === undefined || epoch !== this.#owner?.epoch) return;
    try {
      await this.#owner.remember(executorId);
    } catch (err) {
      this.#options.onFailure(err);
      return outbox.close();
    }
    if (ledger !== this.#ledger || outbox.closed) return;
    stream.epoch = epoch;
    ledger.report(executorId, sources, {
      send: (sourceId, change) => outbox.add(sourceId, change),
      expired: () => outbox.close(),
    });
    this.#watch();
    void this.#owner?.update();
  }
}
