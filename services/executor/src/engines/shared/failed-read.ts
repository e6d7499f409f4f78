/**
 * Ends a read whose answer has failed, because the rest of its rows would be read for nothing: for minutes, and with large
 * rows that others wait for.
 */

/** A small result ends sooner, and keeps its connection. */
const readOnMs = 50;

export class FailedRead {
  /** The failure of a row. */
  error: unknown;
  readonly #close: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** `close` closes the connection. A cancelled statement would go on until what it has sent is read. */
  constructor(close: () => void) {
    this.#close = close;
  }

  reset(): void {
    this.error = undefined;
  }

  begin(error: unknown): void {
    this.error = error;
    this.#timer = setTimeout(this.#close, readOnMs);
  }

  /** The read has ended. */
  end(): void {
    clearTimeout(this.#timer);
  }
}
