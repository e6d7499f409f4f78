/** How fast the connections of one source come free, and so how long its line takes. */

import type { Member } from './pool-settings.ts';

/** A line that is gone within this is a burst at a fast source, however many stand in it. */
const burstMs = 250;

export class Pace {
  /** How long a connection was held of late; 0 before the first came back. */
  private heldMs = 0;
  private readonly members: Iterable<Member>;
  private readonly sizeMax: number;

  constructor(members: Iterable<Member>, sizeMax: number) {
    this.members = members;
    this.sizeMax = sizeMax;
  }

  released(heldMs: number): void {
    this.heldMs += (heldMs - this.heldMs) / 8;
  }

  /** The time a line of so many takes at the pace seen so far, what runs now included. */
  lineMs(waiting: number, now: number): number {
    let paceMs = this.heldMs;
    for (const { busy, heldAt } of this.members) if (busy) paceMs = Math.max(paceMs, (now - heldAt) / 2);
    return (waiting * paceMs) / this.sizeMax;
  }

  /** True where a line of so many is known to be gone before anybody minds. */
  isBurst(waiting: number, now: number): boolean {
    return this.heldMs > 0 && this.lineMs(waiting, now) <= burstMs;
  }
}
