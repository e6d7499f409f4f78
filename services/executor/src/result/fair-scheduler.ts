/** The turns of large answers. */

import { FairQueue } from '@datahub/service-kit/fair-queue';

/** A large answer. The scheduler resumes it when its turn begins, and pauses it when its turn has taken too long. */
export interface Flow {
  readonly accountId: string;
  resume(): void;
  pause(): void;
}

export interface SchedulerOptions {
  /** Flows that have a turn at the same time: one is read while another is filled. In small-first mode it is one. */
  flowsMax: number;
  /** The longest turn, for a flow that does not fill a chunk in time. */
  turnMs: number;
  /** How long small-first mode lasts after a small answer has ended. */
  smallFirstMs: number;
  /** The shortest pause between turns in small-first mode. It grows with the turn before it and the number of flows. */
  pauseMs: number;
}

/** The longest pause in turns: large answers keep a quarter of the process. */
const pauseTurnsMax = 3;
const defaults: SchedulerOptions = { flowsMax: 2, turnMs: 15, smallFirstMs: 100, pauseMs: 2 };

/**
 * Large answers take turns, so that the process can serve small ones in between. The database meanwhile fills the
 * buffers of its socket, so no throughput is lost. A turn ends with each chunk, since a fast source has megabytes ready
 * that would be read without a break. The accounts share the turns, so many answers of one do not delay those of another.
 * In small-first mode the scheduler also pauses between turns, so that small answers get the CPU.
 */
export class FairScheduler {
  readonly #options: SchedulerOptions;
  readonly #flowing = new Set<Flow>();
  readonly #waiting = new FairQueue<Flow>();
  #rotation: NodeJS.Timeout | undefined;
  #isAdmitting = false;
  /** When the last turn began. */
  #begunAt = 0;
  #smallAt = Number.NEGATIVE_INFINITY;

  constructor(options: Partial<SchedulerOptions> = {}) {
    this.#options = { ...defaults, ...options };
  }

  /** True for a while after a small answer has ended: turns should be short. */
  get smallFirst(): boolean {
    return performance.now() - this.#smallAt < this.#options.smallFirstMs;
  }

  noteSmall(): void {
    this.#smallAt = performance.now();
  }

  /** False if the flow has to wait for its turn. */
  enter(flow: Flow): boolean {
    if (this.#flowing.has(flow)) return true;
    if (this.#waiting.size === 0 && this.#hasRoom()) {
      this.#begunAt = performance.now();
      this.#flowing.add(flow);
      return true;
    }
    this.#wait(flow);
    this.#scheduleRotation();
    return false;
  }

  /** Ends the turn of a flow that has sent a chunk and has paused. The scheduler resumes it for the next turn. */
  yieldTurn(flow: Flow): void {
    if (this.#waiting.size === 0) {
      setImmediate(() => {
        if (!this.#flowing.has(flow)) return;
        this.#begunAt = performance.now();
        flow.resume();
      });
      return;
    }
    this.#flowing.delete(flow);
    this.#wait(flow);
    this.#admitSoon();
    this.#scheduleRotation();
  }

  /** Removes a flow that waits for its reader or has ended. */
  leave(flow: Flow): void {
    this.#waiting.remove(flow.accountId, flow);
    if (this.#flowing.delete(flow) && this.#waiting.size > 0) this.#admitSoon();
    this.#scheduleRotation();
  }

  #wait(flow: Flow): void {
    if (!this.#waiting.has(flow.accountId, flow)) this.#waiting.push(flow.accountId, flow);
  }

  #hasRoom(): boolean {
    return this.#flowing.size < (this.smallFirst ? 1 : this.#options.flowsMax);
  }

  #admit(): void {
    this.#begunAt = performance.now();
    for (let left = this.#waiting.size; left > 0 && this.#hasRoom(); left--) {
      const flow = this.#waiting.shift();
      if (flow === undefined) return;
      this.#flowing.add(flow);
      flow.resume();
    }
  }

  #admitSoon(): void {
    if (this.#isAdmitting) return;
    this.#isAdmitting = true;
    const begin = () => {
      this.#isAdmitting = false;
      this.#admit();
      this.#scheduleRotation();
    };
    if (!this.smallFirst) {
      setImmediate(begin);
      return;
    }
    const { pauseMs, turnMs } = this.#options;
    const turns = Math.min(this.#waiting.size, pauseTurnsMax);
    // A turn has no end while a flow waits for its source and no other flow waits for a turn.
    const lastedMs = Math.min(performance.now() - this.#begunAt, turnMs);
    setTimeout(begin, Math.max(pauseMs, turns * lastedMs));
  }

  #rotate(): void {
    this.#rotation = undefined;
    const over = [...this.#flowing].slice(0, this.#waiting.size);
    for (const flow of over) {
      this.#flowing.delete(flow);
      flow.pause();
    }
    this.#admit();
    for (const flow of over) this.#wait(flow);
    this.#admit();
    this.#scheduleRotation();
  }

  #scheduleRotation(): void {
    if (this.#waiting.size > 0) {
      this.#rotation ??= setTimeout(() => this.#rotate(), this.#options.turnMs);
    } else {
      clearTimeout(this.#rotation);
      this.#rotation = undefined;
    }
  }
}
