/** Cancels statements from another session, one for each source. */

import { setTimeout as sleep } from 'node:timers/promises';

export interface SideSession {
  /**
   * Cancels the statement, or ends the session. Resolves with the server's response. Concurrent calls run one after the
   * other.
   */
  kill(what: 'QUERY' | 'CONNECTION', threadId: number): Promise<void>;
  close(): void;
}

export interface CancelOptions {
  threadId: number;
  /** Returns true while the statement has not ended. */
  busy: () => boolean;
  /** After it aborts, KILL is not repeated. */
  signal: AbortSignal;
  /** Called when the server has answered the first KILL. */
  onKilled: () => void;
}

const repeatMs = 100;
/** The time limit for opening the session, and for each KILL. */
export const cancelTimeoutMs = 5_000;

/**
 * Uses a single session for all KILLs at a source, one after the other, because it is not counted among the connections
 * of the source. Two concurrent KILLs of one session can also block all log-ins at MariaDB for seconds: the second KILL
 * waits for the first while it locks the server's session list.
 */
export class Canceller {
  readonly #open: (signal: AbortSignal) => Promise<SideSession>;
  #side: Promise<SideSession> | undefined;
  #users = 0;

  /** The signal is for opening the session. */
  constructor(open: (signal: AbortSignal) => Promise<SideSession>) {
    this.#open = open;
  }

  cancelStatement({ threadId, busy, signal, onKilled }: CancelOptions): Promise<void> {
    return this.#use(async (side) => {
      await side.kill('QUERY', threadId);
      onKilled();
      // A KILL that arrives before the statement begins has no effect, so KILL is repeated while the statement runs.
      for (await sleep(repeatMs); busy() && !signal.aborted; await sleep(repeatMs))
        await side.kill('QUERY', threadId);
    });
  }

  /** May be called while a statement is being cancelled. */
  endSession(threadId: number): Promise<void> {
    return this.#use((side) => side.kill('CONNECTION', threadId));
  }

  async #use(work: (side: SideSession) => Promise<void>): Promise<void> {
    this.#side ??= this.#open(AbortSignal.timeout(cancelTimeoutMs));
    const opened = this.#side;
    this.#users++;
    try {
      await work(await opened);
    } catch (err) {
      // The session is broken, so the next KILL opens another one.
      if (this.#side === opened) this.#forget();
      throw err;
    } finally {
      this.#users--;
      if (this.#users === 0) this.#forget();
    }
  }

  #forget(): void {
    this.#side?.then(
      (side) => side.close(),
      () => {},
    );
    this.#side = undefined;
  }
}
