/** The texts that a classifier is least certain of. Their labels teach it most. */

interface Score {
  confidence: number;
}

interface Candidate<T> {
  item: T;
  margin: number;
}

/** Keeps the `count` texts whose two best classes are nearest to each other (Scheffer and others, 2001). */
export class LeastCertain<T> {
  readonly #count: number;
  #kept: Candidate<T>[] = [];

  constructor(count: number) {
    this.#count = count;
  }

  /** `scores` are those of the text, the best one first. */
  add(item: T, scores: readonly Score[]): void {
    const margin = (scores[0]?.confidence ?? 0) - (scores[1]?.confidence ?? 0);
    this.#kept.push({ item, margin });
    if (this.#kept.length >= 2 * this.#count) this.#cut();
  }

  /** The least certain one first. */
  items(): T[] {
    this.#cut();
    return this.#kept.map(({ item }) => item);
  }

  #cut(): void {
    this.#kept.sort((a, b) => a.margin - b.margin);
    this.#kept = this.#kept.slice(0, this.#count);
  }
}
