/** Deadlines that are rarely reached, with one system timer for all of them. */

export interface Deadline {
  readonly at: number;
  readonly onReached: () => void;
  /** Index in the list of pending deadlines; -1 once it is reached or removed. */
  index: number;
}

/** The most that one timer can wait, in milliseconds. */
const timerMaxMs = 2_147_483_647;

/**
 * Replaces a `setTimeout` and a `clearTimeout` for each call at a fraction of their cost, because the timer changes only
 * for a deadline that is earlier than all others. When it fires, it scans all pending deadlines; if all have the same
 * length, that happens once in that time.
 */
export class Deadlines {
  readonly #pending: Deadline[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires. */
  #timerAt = Number.POSITIVE_INFINITY;

  /** Calls `onReached` once after `delayMs` unless the deadline is removed before; never before this returns. */
  add(delayMs: number, onReached: () => void): Deadline {
    const at = performance.now() + Math.max(delayMs, 0);
    const deadline = { at, onReached, index: this.#pending.length };
    this.#pending.push(deadline);
    if (at < this.#timerAt) this.#setTimer(at);
    return deadline;
  }

  /** Does nothing if it was reached or removed before. */
  remove(deadline: Deadline): void {
    const { index } = deadline;
    if (index === -1) return;
    const last = this.#pending.pop() as Deadline;
    if (last !== deadline) {
      this.#pending[index] = last;
      last.index = index;
    }
    deadline.index = -1;
  }

  #setTimer(at: number): void {
    clearTimeout(this.#timer);
    this.#timerAt = at;
    const delayMs = Math.min(Math.max(Math.ceil(at - performance.now()), 1), timerMaxMs);
    this.#timer = setTimeout(() => this.#fire(), delayMs);
    // A pending deadline does not keep the process alive.
    this.#timer.unref();
  }

  #fire(): void {
    const now = performance.now();
    const reached = this.#pending.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at);
    // A listener can remove other deadlines.
    for (const deadline of reached) {
      if (deadline.index === -1) continue;
      this.remove(deadline);
      deadline.onReached();
    }
    this.#timerAt = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const { at } of this.#pending) next = Math.min(next, at);
    if (next < Number.POSITIVE_INFINITY) this.#setTimer(next);
  }
}
