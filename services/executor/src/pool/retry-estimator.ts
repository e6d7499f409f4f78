/** How fast the connections of one source come free, and so how long its line takes, and who should come back when. */

import type { Member } from './pool-types.ts';

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

  /**
   * What a caller is told who is sent away from a line of so many: he comes when it is gone, and each a place after
   * those who were told before him. All at the same moment, they would be sent away again, and be a burst by themselves.
   */
  retryAfterMs(waiting: number, now: number): number {
    const seenMs = this.placeMs(now);
    // Where nothing came back yet, it is anybody's guess.
    const placeMs = this.heldMs > 0 ? seenMs : Math.max(seenMs, retryMinMs / this.sizeMax);
    const afterLine = now + Math.max(waiting * seenMs, retryMinMs);
    this.promisedAt = Math.max(afterLine, this.promisedAt + placeMs);
    const latest = now + retryMaxMs;
    if (this.promisedAt > latest) {
      this.promisedAt = latest;
      return Math.round(retryMaxMs * (1 - this.random() / 2));
    }
    return Math.round(this.promisedAt - now);
  }

  /** The time in which a line moves by one place, at the pace seen so far, what runs now included. */
  private placeMs(now: number): number {
    let heldMs = this.heldMs;
    for (const { busy, heldAt } of this.members) if (busy) heldMs = Math.max(heldMs, (now - heldAt) / 2);
    return heldMs / this.sizeMax;
  }

  /** True where a line of so many is known to be gone before anybody minds. */
  isBurst(waiting: number, now: number): boolean {
    return this.heldMs > 0 && waiting * this.placeMs(now) <= burstMs;
  }
}
