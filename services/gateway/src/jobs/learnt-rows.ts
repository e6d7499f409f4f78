/** The rows that a job has learnt, by their digests: when its query runs again, these rows need no call to the classifier. */

import type { Row } from '@datahub/proto/ml/v1/ml';
import { type Digest, DigestTable, digestOf } from '@datahub/service-kit/digest-table';
import { createLoopYield } from '@datahub/service-kit/yield-to-loop';

/** The most rows of all jobs of a gateway. They take 50 MB. A classifier learns at most half as many. */
export const learntRowsMax = 2_000_000;

export function digestOfRow({ id, label, text }: Row): Digest {
  return digestOf(JSON.stringify([id, label, text]));
}

export class LearntRows {
  #table = new DigestTable(3);
  readonly #room: { rows: number };

  /** @param room How many rows more the jobs of this gateway may remember. */
  constructor(room: { rows: number }) {
    this.#room = room;
  }

  get size(): number {
    return this.#table.size;
  }

  has(digest: Digest): boolean {
    return this.#table.find(digest) !== undefined;
  }

  /** To call before so many rows are added. A table of many rows grows in pieces, so that other requests run meanwhile. */
  reserve(count: number): Promise<void> {
    return this.#table.reserve(Math.min(count, this.#room.rows), createLoopYield());
  }

  /** Ignores a row if there is no room. */
  add(digest: Digest): void {
    if (this.#room.rows <= 0 || this.has(digest)) return;
    this.#room.rows -= 1;
    this.#table.set(digest, 1);
  }

  /** Forgets the rows. */
  close(): void {
    this.#room.rows += this.size;
    this.#table = new DigestTable(3);
  }
}
