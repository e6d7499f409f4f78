/** Adds up the time in which a receiver takes no bytes. Times are in milliseconds of one clock. */
export class PauseClock {
  #endedMs = 0;
  #since: number | undefined;

  pause(now: number): void {
    this.#since ??= now;
  }

  resume(now: number): void {
    this.#endedMs = this.pausedMs(now);
    this.#since = undefined;
  }

  /** With the pause that has not ended. */
  pausedMs(now: number): number {
    return this.#endedMs + (this.#since === undefined ? 0 : Math.max(0, now - this.#since));
  }
}
