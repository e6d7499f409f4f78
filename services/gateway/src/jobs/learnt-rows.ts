/**
 * The rows that a job has learnt, by the digest of their id, with that of their latest form: when its query runs again,
 * these rows need no call to the classifier.
 */

import type { Row } from '@datahub/proto/ml/v1/ml';
import { type Digest, DigestTable, digestOf } from '@datahub/service-kit/digest-table';
import { createLoopYield } from '@datahub/service-kit/yield-to-loop';

/** The most rows of all jobs of a gateway. They take 67 MB. A classifier learns at most half as many. */
export const learntRowsMax = 2_000_000;

const numbersPerRow = 4;

export interface RowDigests {
  id: Digest;
  form: Digest;
}

export function digestsOfRow({ id, label, text }: Row): RowDigests {
  const [first, second] = digestOf(JSON.stringify([label, text]));
  // The table takes no 0 there.
  return { id: digestOf(id), form: [first, second || 1] };
}

export class LearntRows {
  #table = new DigestTable(numbersPerRow);
  readonly #room: { rows: number };

  /** @param room How many rows more the jobs of this gateway may remember. */
  constructor(room: { rows: number }) {
    this.#room = room;
  }

  get size(): number {
    return this.#table.size;
  }

  /** True if this is the form in which the row was learnt last. */
  has({ id, form }: RowDigests): boolean {
    const known = this.#table.find(id);
    return known !== undefined && known[0] === form[0] && known[1] === form[1];
  }

  /** To call before so many rows are added. A table of many rows grows in pieces, so that other requests run meanwhile. */
  reserve(count: number): Promise<void> {
    return this.#table.reserve(Math.min(count, this.#room.rows), createLoopYield());
  }

  /** Ignores a row if there is no room. */
  add({ id, form }: RowDigests): void {
    if (this.#table.find(id) === undefined) {
      if (this.#room.rows <= 0) return;
      this.#room.rows -= 1;
    }
    this.#table.set(id, ...form);
  }

  /** Forgets the rows. */
  close(): void {
    this.#room.rows += this.size;
    this.#table = new DigestTable(numbersPerRow);
  }
}
