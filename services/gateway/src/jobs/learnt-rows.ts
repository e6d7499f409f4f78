/** The rows that a job has learnt, by their digests: when its query runs again, these rows need no call to the classifier. */

import type { Row } from '@datahub/proto/ml/v1/ml';
import { type Digest, DigestTable, digestOf } from '@datahub/service-kit/digest-table';

/** A classifier learns at most this many rows. They take 25 MB. */
const rowsMax = 1_000_000;

export function digestOfRow({ id, label, text }: Row): Digest {
  return digestOf(JSON.stringify([id, label, text]));
}

export class LearntRows {
  readonly #table = new DigestTable(3);

  get size(): number {
    return this.#table.size;
  }

  has(digest: Digest): boolean {
    return this.#table.find(digest) !== undefined;
  }

  /** Ignores a row beyond the maximum. */
  add(digest: Digest): void {
    if (this.size < rowsMax) this.#table.set(digest, 1);
  }
}
