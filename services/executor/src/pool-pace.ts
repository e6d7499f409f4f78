/** How fast the connections of one source come free, and so how long its line takes, and who should come back when. */

import type { Member } from './pool-settings.ts';

/** A line that is gone within this is a burst at a fast source, however many stand in it. */
const burstMs = 250;

/** Nobody is told to come back sooner, nor later. */
const retryMinMs = 250;
const retryMaxMs = 30_000;

export class Pace {
  /** How long a connection was held of late; 0 before the first came back. */
  private heldMs = 0;
  /** When the last who was sent away should come back. */
  private promisedAt = 0;
  private readonly members: Iterable<Member>;
  private readonly sizeMax: number;
  private readonly random: () => number;

  constructor(members: Iterable<Member>, sizeMax: number, random: () => number) {
    this.members = members;
    this.sizeMax = sizeMax;
    this.random = random;
  }

  released(heldMs: number): void {
    this.heldMs += (heldMs - this.heldMs) / 8;
  }

  /** The time a line of so many takes at the pace seen so far, what runs now included. */
  lineMs(waiting: number, now: number): number {
    return (waiting * this.turnMs(now)) / this.sizeMax;
  }

  /**
   * What a caller is told who is sent away from a line of so many: he comes when it is gone, and each a place after
   * those who were told before him. All at the same moment, they would be sent away again, and be a burst by themselves.
   */
  retryAfterMs(waiting: number, now: number): number {
    const turnMs = this.turnMs(now);
    // Where nothing came back yet, turns are anybody's guess.
    const placeMs = (this.heldMs > 0 ? turnMs : Math.max(turnMs, retryMinMs)) / this.sizeMax;
    const afterLine = now + Math.max(this.lineMs(waiting, now), retryMinMs);
    this.promisedAt = Math.max(afterLine, this.promisedAt + placeMs);
    const latest = now + retryMaxMs;
    if (this.promisedAt > latest) {
      this.promisedAt = latest;
      return Math.round(retryMaxMs * (1 - this.random() / 2));
    }
    return Math.round(this.promisedAt - now);
  }

  private turnMs(now: number): number {
    let turnMs = this.heldMs;
    for (const { busy, heldAt } of this.members) if (busy) turnMs = Math.max(turnMs, (now - heldAt) / 2);
    return turnMs;
  }

  /** True where a line of so many is known to be gone before anybody minds. */
  isBurst(waiting: number, now: number): boolean {
    return this.heldMs > 0 && this.lineMs(waiting, now) <= burstMs;
  }
}
