/** Rows of a slow source, on their way before their chunk is full. */

const dripMs = 20;

/** An answer that has rows to send. */
export interface Dripping {
  drip(): void;
}

/**
 * Rows that come in drips do not wait for a full chunk: `dripMs` at most, and half of that at least, in which a small
 * answer is whole. One clock for all answers: a timer for each would cost more than its bytes.
 */
export class Drips {
  #fresh: Dripping[] = [];
  #due: Dripping[] = [];
  #ticking = false;

  add(answer: Dripping): void {
    this.#fresh.push(answer);
    if (this.#ticking) return;
    this.#ticking = true;
    setTimeout(() => this.#tick(), dripMs / 2);
  }

  #tick(): void {
    for (const answer of this.#due) answer.drip();
    this.#due = this.#fresh;
    this.#fresh = [];
    this.#ticking = this.#due.length > 0;
    if (this.#ticking) setTimeout(() => this.#tick(), dripMs / 2);
  }
}
