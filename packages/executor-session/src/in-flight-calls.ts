/**
 * Calls by their number, where they come and go by the thousand a second. Not a `Map`: each table that one outgrows is
 * linked to the next, so a table that has grown old keeps all later ones, and every call they ever held, until the next
 * full collection.
 */

export interface Numbered {
  readonly sequence: number;
}

/** A power of two: numbers follow each other, so calls spread over the places. */
const places = 256;

export class CallsUnderWay<T extends Numbered> implements Iterable<T> {
  size = 0;
  readonly #places: T[][] = Array.from({ length: places }, () => []);

  add(call: T): void {
    this.#place(call.sequence).push(call);
    this.size++;
  }

  get(sequence: number): T | undefined {
    return this.#place(sequence).find((call) => call.sequence === sequence);
  }

  /** Nothing where it is not there. */
  remove(call: T): void {
    const place = this.#place(call.sequence);
    const index = place.indexOf(call);
    if (index === -1) return;
    place.splice(index, 1);
    this.size--;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const place of this.#places) yield* [...place];
  }

  #place(sequence: number): T[] {
    return this.#places[sequence & (places - 1)] as T[];
  }
}
