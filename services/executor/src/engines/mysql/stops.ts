/**
 * Stops the running statement of a connection at its server: if its caller asks, if its answer has failed, or if no more of
 * its rows are taken.
 */

import { Cancellation } from '../shared/cancellation.ts';
import { FailedRead } from '../shared/failed-read.ts';
import type { Canceller, CancelOptions } from './cancel.ts';

export interface StopsHost {
  canceller: Canceller;
  threadId: number;
  /** True while a response of the server is pending. */
  busy: () => boolean;
  resume: () => void;
  close: () => void;
}

/** A KILL takes a second session, so a read that is over sooner is not cut. */
const cutAfterMs = 50;

type Cut = 'none' | 'made' | 'unknown';

export class Stops {
  readonly cancellation = new Cancellation();
  readonly failed: FailedRead;
  readonly #host: StopsHost;
  /** True if the server has answered the statement. */
  #hasEnded = true;
  #timer: NodeJS.Timeout | undefined;
  #cut: Promise<Cut> | undefined;

  constructor(host: StopsHost) {
    this.#host = host;
    this.failed = new FailedRead(host.close);
  }

  begin(): void {
    this.cancellation.reset();
    this.failed.reset();
    this.#hasEnded = false;
  }

  /** Call it for each row of a read that is dropped. */
  dropped(): void {
    this.#timer ??= setTimeout(() => {
      this.#cut = new Promise((resolve) => {
        // Its rows arrive, so it is running, and is killed once: another KILL could stop what follows.
        const options = { signal: AbortSignal.abort(), onKilled: () => resolve('made') };
        this.#kill(options).catch(() => resolve('unknown'));
      });
    }, cutAfterMs);
  }

  /**
   * Call it when the server has answered the statement. Resolves to whether a KILL was sent because rows were dropped, or to
   * `unknown` if that KILL was not answered and could still arrive.
   */
  async end(): Promise<Cut> {
    this.#hasEnded = true;
    this.failed.end();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const cut = await this.#cut;
    this.#cut = undefined;
    return cut ?? 'none';
  }

  /** See `Connection`. */
  cancel(signal: AbortSignal): Promise<void> {
    this.cancellation.ask();
    const onKilled = () => {
      this.cancellation.answered();
      this.#host.resume();
    };
    return this.#kill({ signal, onKilled });
  }

  #kill(options: Pick<CancelOptions, 'signal' | 'onKilled'>): Promise<void> {
    const { canceller, threadId, busy } = this.#host;
    // A KILL must not stop what follows the statement.
    return canceller.cancelStatement({ threadId, busy: () => busy() && !this.#hasEnded, ...options });
  }
}
