/**
 * The driver's clients, one for each version of a source. The connections of a pool share it, and the last one closes
 * it.
 */

import type { ConnectDeps, ConnectSettings } from '../../ports/engine.ts';
import { openClient, type SourceClient } from './client.ts';
import { SocksProxy } from './socks-proxy.ts';

/** Clients are replaced after this time, because a name may resolve to another address by then. */
const clientAgeMaxMs = 30 * 60_000;

interface Entry {
  client: Promise<SourceClient>;
  openedAt: number;
  users: number;
}

export interface ClientLease {
  source: SourceClient;
  /** Idempotent. */
  release(): void;
}

export class Clients {
  readonly proxy = new SocksProxy();
  /** Keyed by the `facts` object of a pool. Each version of a source has one pool. */
  readonly #entries = new Map<object, Entry>();

  async lease(settings: ConnectSettings, deps: ConnectDeps): Promise<ClientLease> {
    const { facts } = deps;
    const entry = (facts && this.#young(facts)) ?? this.#open(settings, deps);
    entry.users++;
    let released = false;
    const release = () => {
      if (released) return;
      released = true;
      entry.users--;
      if (entry.users > 0) return;
      this.#forget(facts, entry);
      entry.client.then(
        (client) => client.close(),
        () => {},
      );
    };
    try {
      return { source: await entry.client, release };
    } catch (err) {
      release();
      throw err;
    }
  }

  #young(key: object): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && performance.now() - entry.openedAt < clientAgeMaxMs ? entry : undefined;
  }

  /** The pool opens its first connection alone, so only that one waits for the client to connect. */
  #open(settings: ConnectSettings, deps: ConnectDeps): Entry {
    const client = openClient(settings, deps, this.proxy);
    const entry: Entry = { client, openedAt: performance.now(), users: 0 };
    if (deps.facts !== undefined) this.#entries.set(deps.facts, entry);
    client.catch(() => this.#forget(deps.facts, entry));
    return entry;
  }

  #forget(key: object | undefined, entry: Entry): void {
    if (key !== undefined && this.#entries.get(key) === entry) this.#entries.delete(key);
  }
}
