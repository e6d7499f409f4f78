/** How far the cancellation of a connection's running statement has come. */

import { HubError } from '@datahub/service-kit/call/error';
import type { Statement } from '../../ports/engine.ts';

export class Cancellation {
  /** Rows that arrive after the server's answer are dropped. */
  #stage: 'none' | 'asked' | 'answered' | 'rows dropped' = 'none';

  /** A statement begins. */
  reset(): void {
    this.#stage = 'none';
  }

  /** The server is asked to stop the statement. */
  ask(): void {
    this.#stage = 'asked';
  }

  /** The server has answered. It may notice the request only after it has sent more rows. */
  answered(): void {
    this.#stage = 'answered';
  }

  get isAsked(): boolean {
    return this.#stage !== 'none';
  }

  /** True while the request is on its way: it could cancel the next statement. */
  get isPending(): boolean {
    return this.#stage === 'asked';
  }

  /** Call it for rows that have arrived. True if they must be dropped. */
  dropsRows(): boolean {
    if (this.#stage === 'answered') this.#stage = 'rows dropped';
    return this.#stage === 'rows dropped';
  }

  /**
   * The error of a statement of which rows were dropped: its answer is incomplete even if it succeeded. Whether a write
   * was carried out is then unknown.
   */
  rowsLeft(kind: Statement['kind']): HubError | undefined {
    if (this.#stage !== 'rows dropped') return undefined;
    if (kind === 'read') return new HubError('CANCELLED', 'The statement was cancelled.');
    return new HubError('SOURCE_BROKEN', 'The answer of the source was not read to its end.', {
      retryable: false,
    });
  }
}
