/** Times by which something must have ended, where nearly all of it ends long before: one timer of the system's for all of them. */

export interface Deadline {
  readonly at: number;
  readonly onReached: () => void;
  /** Among those under way; -1 for none. */
  place: number;
}

/** The most that one timer can wait, in milliseconds. */
const timerMaxMs = 2_147_483_647;

/**
 * In place of a `setTimeout` and a `clearTimeout` for each call: to add and to remove cost a fraction of those, since the
 * timer stays as it is unless a deadline comes before all others. When it fires, all that are under way are looked
 * through, which for deadlines of one length is once in that time.
 */
export class Deadlines {
  readonly #underWay: Deadline[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires. */
  #timerAt = Number.POSITIVE_INFINITY;

  /** Calls `onReached` in so many milliseconds, once, unless it is removed before; never before this returns. */
  add(delayMs: number, onReached: () => void): Deadline {
    const at = performance.now() + Math.max(delayMs, 0);
    const deadline = { at, onReached, place: this.#underWay.length };
    this.#underWay.push(deadline);
    if (at < this.#timerAt) this.#setTimer(at);
    return deadline;
  }

  /** Nothing where it was reached or removed before. */
  remove(deadline: Deadline): void {
    const { place } = deadline;
    if (place === -1) return;
    const last = this.#underWay.pop() as Deadline;
    if (last !== deadline) {
      this.#underWay[place] = last;
      last.place = place;
    }
    deadline.place = -1;
  }

  #setTimer(at: number): void {
    clearTimeout(this.#timer);
    this.#timerAt = at;
    const delayMs = Math.min(Math.max(Math.ceil(at - performance.now()), 1), timerMaxMs);
    this.#timer = setTimeout(() => this.#look(), delayMs);
    // The process lives for what is under way, not for the time it may take.
    this.#timer.unref();
  }

  #look(): void {
    const now = performance.now();
    const reached = this.#underWay.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at);
    // One that is reached may remove another.
    for (const deadline of reached) {
      if (deadline.place === -1) continue;
      this.remove(deadline);
      deadline.onReached();
    }
    this.#timerAt = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const { at } of this.#underWay) next = Math.min(next, at);
    if (next < Number.POSITIVE_INFINITY) this.#setTimer(next);
  }
}
