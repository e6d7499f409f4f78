/** Cancels the statement of a session, from a second session. */

import { setTimeout as sleep } from 'node:timers/promises';

export interface SideSession {
  /**
   * Cancels the statement, or ends the session. Resolves with the server's response. Concurrent calls run one after the
   * other.
   */
  kill(what: 'QUERY' | 'CONNECTION'): Promise<void>;
  close(): void;
}

export interface CancelOptions {
  /** Returns true while the statement has not ended. */
  busy: () => boolean;
  /** After it aborts, KILL is not repeated. */
  signal: AbortSignal;
  /** Called when the server has answered the first KILL. */
  onKilled: () => void;
}

const repeatMs = 100;
const timeoutMs = 5_000;

/**
 * Uses a single second session for all KILLs of a statement, one after the other. Two concurrent KILLs of one session
 * can block all log-ins at MariaDB for seconds: the second KILL waits for the first while it locks the server's session
 * list.
 */
export class Canceller {
  readonly #open: (signal: AbortSignal) => Promise<SideSession>;
  #side: Promise<SideSession> | undefined;
  #users = 0;

  /** A second session is closed when the signal that it was opened with aborts. */
  constructor(open: (signal: AbortSignal) => Promise<SideSession>) {
    this.#open = open;
  }

  cancelStatement({ busy, signal, onKilled }: CancelOptions): Promise<void> {
    return this.#use(async (side) => {
      await side.kill('QUERY');
      onKilled();
      // A KILL that arrives before the statement begins has no effect, so KILL is repeated while the statement runs.
      for (await sleep(repeatMs); busy() && !signal.aborted; await sleep(repeatMs)) await side.kill('QUERY');
    });
  }

  /** May be called while a statement is being cancelled. */
  endSession(): Promise<void> {
    return this.#use((side) => side.kill('CONNECTION'));
  }

  async #use(work: (side: SideSession) => Promise<void>): Promise<void> {
    this.#side ??= this.#open(AbortSignal.timeout(timeoutMs));
    const opened = this.#side;
    this.#users++;
    try {
      await work(await opened);
    } finally {
      this.#users--;
      if (this.#users === 0) {
        this.#side = undefined;
        opened.then(
          (side) => side.close(),
          () => {},
        );
      }
    }
  }
}
