/**
 * Watches one replica of a service while calls wait for it. If nothing comes from it, it is asked whether it is alive. If
 * it does not answer this probe, it is ejected: the calls end, and new ones go to other replicas until it answers again.
 */

import type { Health } from './health.ts';

export interface ReplicaHealthOptions {
  /** Resolves within `timeoutMs`. */
  probe: (timeoutMs: number) => Promise<Health>;
  /** False if so many replicas are ejected that the calls would hurt the others. */
  mayEject: () => boolean;
}

/** A replica is asked after so much silence. An ejected one is asked again as soon as a probe has ended. */
const probeAfterMs = 400;
const probeTimeoutMs = 2_000;
/** A probe that ended later than this after its time limit shows that this process was paused. */
const pausedMs = 500;

export class ReplicaHealth {
  isEjected = false;
  readonly #options: ReplicaHealthOptions;
  readonly #waiting = new Set<() => void>();
  #heardAt = 0;
  #isWatching = false;
  #closed = false;

  constructor(options: ReplicaHealthOptions) {
    this.#options = options;
  }

  /** True if nothing waits for the replica. */
  get isIdle(): boolean {
    return this.#waiting.size === 0;
  }

  /** Something waits for the replica until the returned function is called. `cut` is called if the replica is ejected. */
  wait(cut: () => void): () => void {
    this.#waiting.add(cut);
    if (!this.#isWatching) void this.#watch();
    return () => void this.#waiting.delete(cut);
  }

  /** The replica has sent something. */
  heard(): void {
    this.#heardAt = performance.now();
    this.isEjected = false;
  }

  close(): void {
    this.#closed = true;
  }

  async #watch(): Promise<void> {
    this.#isWatching = true;
    this.#heardAt = performance.now();
    while (!this.#closed && (this.#waiting.size > 0 || this.isEjected)) {
      const leftMs = this.#heardAt + probeAfterMs - performance.now();
      if (leftMs > 0) await pause(leftMs);
      else if (this.isEjected || this.#options.mayEject()) await this.#probe();
      else await pause(probeAfterMs);
    }
    this.#isWatching = false;
  }

  async #probe(): Promise<void> {
    const startedAt = performance.now();
    const health = await this.#options.probe(probeTimeoutMs);
    if (health !== 'silent') return this.heard();
    if (performance.now() - startedAt > probeTimeoutMs + pausedMs || this.#heardAt > startedAt) return;
    this.isEjected ||= this.#options.mayEject();
    if (!this.isEjected) return;
    for (const cut of [...this.#waiting]) cut();
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());
