/**
 * The link to the server, with a circuit breaker. While the server is away, calls fail at once instead of waiting for the
 * driver's timeouts. An error of a connection, or silence while calls wait, is a suspicion: then a new client must get an
 * answer. If it gets none, the breaker opens, and calls in flight fail as well. New clients try again until one is
 * answered; it takes the place of the old one, whose connections may be dead.
 */
import type { HubError } from '@datahub/service-kit/call/error';
import type { Db, MongoClient } from 'mongodb';
import { fromMongodb, isOfConnection, unavailable } from './errors.ts';

export interface LinkOptions {
  /** Creates a client, which connects with its first command. */
  createClient: () => MongoClient;
  databaseOf: (client: MongoClient) => Db;
  /** Without an answer for this long, while a call waits, the server is suspected. */
  silentMs?: number;
  /** How long a new client may take to get an answer. */
  answerMs?: number;
}

export interface Link {
  /** The database of the present client. Do not keep it: the next call may have another client. */
  readonly db: Db;
  /** Runs a call to the server and converts its errors to the hub's. Rejects at once while the server is away. */
  call<R>(work: () => Promise<R>): Promise<R>;
  /** Lets the breaker work from now on: the preparation of a store may take long, and its errors have the true cause. */
  arm(): void;
  close(): Promise<void>;
}

const pauseMs = 250;

export function createLink(options: LinkOptions): Link {
  return new BreakingLink(options);
}

class BreakingLink implements Link {
  readonly #options: LinkOptions;
  readonly #silentMs: number;
  readonly #answerMs: number;
  #client: MongoClient;
  #db: Db;
  /** When each call in progress began, the oldest first. */
  readonly #calls = new Set<{ since: number }>();
  #watching: NodeJS.Timeout | undefined;
  #answeredAt = 0;
  #suspects = false;
  /** Why calls are rejected; undefined while they are sent. */
  #away: HubError | undefined;
  #armed = false;
  #closed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#silentMs = options.silentMs ?? 1_000;
    this.#answerMs = options.answerMs ?? 1_500;
    this.#client = options.createClient();
    this.#db = options.databaseOf(this.#client);
  }

  get db(): Db {
    return this.#db;
  }

  readonly call = async <R>(work: () => Promise<R>): Promise<R> => {
    if (this.#closed) throw storeClosed();
    if (this.#away !== undefined) throw this.#away;
    const call = { since: performance.now() };
    this.#calls.add(call);
    this.#watching ??= setInterval(() => this.#watch(), this.#silentMs / 4).unref();
    try {
      const result = await work();
      this.#answeredAt = performance.now();
      return result;
    } catch (err) {
      if (this.#closed) throw storeClosed(err);
      if (isOfConnection(err)) this.#suspect(err);
      else this.#answeredAt = performance.now();
      throw fromMongodb(err);
    } finally {
      this.#calls.delete(call);
    }
  };

  arm(): void {
    this.#armed = true;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#watching);
    await this.#client.close();
  }

  #watch(): void {
    const [oldest] = this.#calls;
    if (oldest === undefined) {
      clearInterval(this.#watching);
      this.#watching = undefined;
    } else if (performance.now() - Math.max(oldest.since, this.#answeredAt) > this.#silentMs) {
      this.#suspect(new Error('The server has not answered for too long.'));
    }
  }

  #suspect(err: unknown): void {
    if (!this.#armed || this.#suspects || this.#closed) return;
    this.#suspects = true;
    void this.#verify(err).finally(() => {
      this.#suspects = false;
    });
  }

  async #verify(cause: unknown): Promise<void> {
    const answering = await this.#tryConnect();
    if (answering !== undefined) return discard(answering);
    if (this.#closed) return;
    // Not `cause` itself, by which a write would count as sent.
    this.#away = unavailable(
      'The store cannot be reached now.',
      new Error('The server does not answer.', { cause }),
    );
    discard(this.#client);
    await this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    while (!this.#closed) {
      const client = await this.#tryConnect();
      if (client !== undefined) {
        if (this.#closed) return discard(client);
        this.#client = client;
        this.#db = this.#options.databaseOf(client);
        this.#answeredAt = performance.now();
        this.#away = undefined;
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
    }
  }

  /** Resolves to a new client that has got an answer, or to undefined. */
  async #tryConnect(): Promise<MongoClient | undefined> {
    const client = this.#options.createClient();
    const late = Promise.withResolvers<boolean>();
    // An answer that arrived while this process was stopped is read before the immediate.
    const timer = setTimeout(() => setImmediate(() => late.resolve(false)), this.#answerMs).unref();
    const ping = this.#options.databaseOf(client).command({ ping: 1 });
    const answer = ping.then(
      () => true,
      (err) => !isOfConnection(err),
    );
    const isAnswered = await Promise.race([answer, late.promise]);
    clearTimeout(timer);
    if (isAnswered) return client;
    discard(client);
    return undefined;
  }
}

const storeClosed = (cause?: unknown) => unavailable('The store is closed.', cause);

/** Closes a client without waiting: a server that is away answers nothing. Its calls in flight fail at once. */
function discard(client: MongoClient): void {
  client.close().catch(() => {});
}
