/**
 * Executors, replicas of the catalog and a database in memory, on a virtual clock. Pools, slots, streams and the owner's
 * document are the real ones; connections and statements are not. Executors can be paused and killed, replicas too.
 */

import type { SlotOwnerDoc } from '@datahub/catalog/documents';
import { openSlotOwner } from '@datahub/catalog/slots/slot-owner';
import { openSlotStreams, type SlotStreams } from '@datahub/catalog/slots/slot-streams';
import type { Collection } from '@datahub/document-store';
import { createBreaker, defaultBreakerSettings } from '@datahub/executor/pool/circuit-breaker';
import { FairBudget } from '@datahub/executor/pool/fair-budget';
import { Pool } from '@datahub/executor/pool/pool';
import { defaultConnectionLimits, defaultPoolSettings } from '@datahub/executor/pool/pool-types';
import type { Connection } from '@datahub/executor/ports/engine';
import { SlotBook } from '@datahub/executor/slots/slot-book';
import { handOver, leaseSlots, type SlotStream } from '@datahub/executor/slots/slot-stream';
import type { LeaseSlotsRequest, LeaseSlotsResponse } from '@datahub/proto/catalog/v1/catalog_internal';
import type { ProcessState } from '@datahub/service-kit/process/process-id';

export interface FleetSource {
  sourceId: string;
  accountId: string;
  max: number;
  server: string;
}

export interface FleetOptions {
  leaseMs: number;
  sources: FleetSource[];
  servers: Map<string, number>;
  /** True if the replicas know which processes have ended, as on one machine. */
  onOneMachine: boolean;
}

const statementMs = 400;
/** How long a database runs the statement of a client that is gone. */
const noticedMs = 500;
const connectMs = 5;
const never = new AbortController().signal;
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const now = () => performance.now();

/** Counts the sessions that run statements, and remembers the first that was too many. */
class Database {
  excess: string | undefined;
  readonly #running = new Map<string, number>();
  readonly #fleet: FleetOptions;

  constructor(fleet: FleetOptions) {
    this.#fleet = fleet;
  }

  running(name: string): number {
    return this.#running.get(name) ?? 0;
  }

  begin({ sourceId, server, max }: FleetSource, executor: string): () => void {
    const limits = new Map([
      [sourceId, max],
      [server, this.#fleet.servers.get(server) ?? Number.POSITIVE_INFINITY],
    ]);
    for (const [name, limit] of limits) {
      const count = this.running(name) + 1;
      this.#running.set(name, count);
      if (count > limit)
        this.excess ??= `${executor} runs statement ${count} of ${limit} at ${name}, ${now()} ms`;
    }
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      for (const name of limits.keys()) this.#running.set(name, this.running(name) - 1);
    };
  }
}

/** The documents in memory; a replica that was killed can reach them no more. */
class Documents {
  #doc: SlotOwnerDoc | null = null;

  of(replica: { dead: boolean }): Collection<SlotOwnerDoc> {
    const check = async () => {
      if (replica.dead) throw new Error('dead');
    };
    const docs: Pick<Collection<SlotOwnerDoc>, 'get' | 'insert' | 'replace'> = {
      get: () => check().then(() => this.#doc),
      insert: (doc) =>
        check().then(() => {
          if (this.#doc !== null) throw new Error('conflict');
          this.#doc = doc;
        }),
      replace: (doc) =>
        check().then(() => {
          if (this.#doc?.version !== doc.version - 1) return false;
          this.#doc = doc;
          return true;
        }),
    };
    return docs as Collection<SlotOwnerDoc>;
  }
}

interface Replica {
  name: string;
  dead: boolean;
  streams: SlotStreams;
  clients: Set<AbortController>;
}

export class Executor {
  readonly name: string;
  readonly book: SlotBook;
  readonly pools = new Map<string, Pool>();
  /** Callers who want to run statements at each source. */
  readonly demand = new Map<string, number>();
  done = 0;
  dead = false;
  readonly #fleet: Fleet;
  readonly #streams: SlotStream[];
  readonly #busy = new Set<() => void>();
  readonly #cuts = new Set<AbortController>();
  #paused: { at: number; resumed: PromiseWithResolvers<void> } | undefined;

  constructor(name: string, fleet: Fleet) {
    this.name = name;
    this.#fleet = fleet;
    this.book = new SlotBook({ now: () => this.#paused?.at ?? now() });
    const budget = new FairBudget({ ...defaultConnectionLimits }, () => false);
    for (const source of fleet.options.sources) {
      const claim = { ...source, servers: [source.server] };
      const pool = new Pool(
        { ...defaultPoolSettings, sizeMax: source.max },
        {
          open: () => this.#open(),
          breaker: createBreaker(defaultBreakerSettings, now),
          budget,
          slots: this.book.of(claim),
          usage: budget.usage(source.accountId),
          now,
          random: () => 0.5,
        },
      );
      this.pools.set(source.sourceId, pool);
    }
    this.#streams = fleet.replicas.map((_, i) =>
      leaseSlots({
        catalog: { leaseSlots: (requests, ctx) => this.#lease(i, requests, ctx.signal as AbortSignal) },
        instanceId: name,
        book: this.book,
        random: () => 0.5,
      }),
    );
  }

  want(source: FleetSource, callers: number): void {
    const before = this.demand.get(source.sourceId) ?? 0;
    this.demand.set(source.sourceId, callers);
    for (let i = before; i < callers; i++) void this.#call(source, i);
  }

  pause(): void {
    this.#paused ??= { at: now(), resumed: Promise.withResolvers() };
  }

  resume(): void {
    this.#paused?.resumed.resolve();
    this.#paused = undefined;
  }

  /** Like SIGKILL: the sockets close at once. */
  kill(): void {
    this.dead = true;
    this.#fleet.endProcess(this.name);
    this.book.close();
    for (const end of this.#busy) setTimeout(end, noticedMs);
    for (const cut of this.#cuts) cut.abort();
    for (const stream of this.#streams) void stream.close();
  }

  /** Like SIGTERM. */
  async stop(): Promise<void> {
    for (const source of this.#fleet.options.sources) this.want(source, 0);
    await Promise.all([...this.pools.values()].map((pool) => pool.close(1_000)));
    await handOver(() => this.#streams);
    await Promise.all(this.#streams.map((stream) => stream.close()));
    this.book.close();
    this.dead = true;
    this.#fleet.endProcess(this.name);
  }

  sweep(): void {
    if (this.dead || this.#paused) return;
    for (const pool of this.pools.values()) pool.sweep();
  }

  async #awake(): Promise<void> {
    while (this.#paused !== undefined) await this.#paused.resumed.promise;
    if (this.dead) await new Promise(() => {});
  }

  async #open(): Promise<Connection> {
    await sleep(connectMs);
    await this.#awake();
    const connection = { broken: false, onClose: () => {}, ping: async () => {}, close: () => {} };
    connection.close = () => {
      connection.broken = true;
    };
    return connection as unknown as Connection;
  }

  async #call(source: FleetSource, index: number): Promise<void> {
    const pool = this.pools.get(source.sourceId) as Pool;
    while (!this.dead && index < (this.demand.get(source.sourceId) ?? 0)) {
      await this.#awake();
      try {
        const lease = await pool.acquire({ key: 'k', bytes: 0, deadlineAt: now() + 60_000, signal: never });
        // A paused process can have been woken in the middle of this.
        if (this.#paused === undefined) await this.#run(source, lease.connection);
        await this.#awake();
        pool.release(lease);
        this.done++;
      } catch {
        await sleep(100);
      }
    }
  }

  async #run(source: FleetSource, connection: Connection): Promise<void> {
    if (connection.broken || this.dead) return;
    const end = this.#fleet.database.begin(source, this.name);
    this.#busy.add(end);
    await sleep(statementMs);
    end();
    this.#busy.delete(end);
  }

  async *#lease(
    index: number,
    requests: AsyncIterable<LeaseSlotsRequest>,
    signal: AbortSignal,
  ): AsyncIterable<LeaseSlotsResponse> {
    await sleep(1);
    const replica = this.#fleet.replicas[index] as Replica;
    if (replica.dead || this.dead) throw new Error('unreachable');
    const cut = new AbortController();
    replica.clients.add(cut);
    this.#cuts.add(cut);
    const ended = () => cut.abort();
    signal.addEventListener('abort', ended);
    try {
      const lost = new Promise<never>((_, reject) => cut.signal.addEventListener('abort', reject));
      lost.catch(() => {});
      const responses = replica.streams.lease(this.#gate(requests), cut.signal)[Symbol.asyncIterator]();
      for (;;) {
        const { value, done } = await Promise.race([responses.next(), lost]);
        if (done) return;
        await sleep(1);
        if (this.#paused) await Promise.race([this.#awake(), lost]);
        if (cut.signal.aborted) return;
        yield value;
      }
    } finally {
      cut.abort();
      replica.clients.delete(cut);
      this.#cuts.delete(cut);
    }
  }

  /** The messages that arrive at the catalog. */
  async *#gate(requests: AsyncIterable<LeaseSlotsRequest>): AsyncIterable<LeaseSlotsRequest> {
    for await (const request of requests) {
      await sleep(1);
      await this.#awake();
      yield request;
    }
  }
}

export class Fleet {
  readonly options: FleetOptions;
  readonly database: Database;
  readonly replicas: Replica[] = [];
  readonly #processes = new Map<string, ProcessState>();
  readonly executors: Executor[] = [];
  readonly #documents = new Documents();
  readonly #sweeps: NodeJS.Timeout;
  #started = 0;

  constructor(options: FleetOptions) {
    this.options = options;
    this.database = new Database(options);
    this.#sweeps = setInterval(() => {
      for (const executor of this.executors) executor.sweep();
    }, 1_000);
  }

  async startReplica(index: number): Promise<void> {
    const name = this.#startProcess('catalog');
    const replica: Replica = { name, dead: false, streams: undefined as never, clients: new Set() };
    const stateOf = (id: string) => this.#processes.get(id) ?? 'unknown';
    const hasEnded = (id: string) => stateOf(id) === 'ended';
    const common = { ...this.options, now, onFailure: () => {}, stateOf, hasEnded };
    replica.streams = await openSlotStreams({
      ...common,
      openOwner: (ledger) =>
        openSlotOwner({
          ...common,
          ...ledger,
          docs: this.#documents.of(replica),
          instanceId: name,
          isAlone: false,
        }),
    });
    this.replicas[index] = replica;
  }

  killReplica(index: number): void {
    const replica = this.replicas[index] as Replica;
    this.#endReplica(replica);
    for (const client of replica.clients) client.abort();
  }

  async stopReplica(index: number): Promise<void> {
    const replica = this.replicas[index] as Replica;
    await replica.streams.close();
    this.#endReplica(replica);
  }

  #endReplica(replica: Replica): void {
    replica.dead = true;
    this.endProcess(replica.name);
  }

  startExecutor(index: number): void {
    this.executors[index] = new Executor(this.#startProcess('executor'), this);
  }

  #startProcess(kind: string): string {
    const name = `${kind}-${++this.#started}`;
    if (this.options.onOneMachine) this.#processes.set(name, 'running');
    return name;
  }

  endProcess(name: string): void {
    if (this.options.onOneMachine) this.#processes.set(name, 'ended');
  }

  close(): void {
    clearInterval(this.#sweeps);
    for (const executor of this.executors) executor.kill();
    for (const [index] of this.replicas.entries()) this.killReplica(index);
  }
}
