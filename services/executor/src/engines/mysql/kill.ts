/** Stops what runs in a session, from a session beside it. */

import { setTimeout as sleep } from 'node:timers/promises';

export interface SideSession {
  /** Stops the statement, or ends the session whatever it does. Resolves with the answer; several are asked in turn. */
  kill(what: 'QUERY' | 'CONNECTION'): Promise<void>;
  close(): void;
}

export interface StopStatement {
  /** True while the statement has not ended. */
  busy: () => boolean;
  /** When it fires, nothing is asked again. */
  signal: AbortSignal;
  /** The server was asked for the first time, and has answered. */
  onAsked: () => void;
}

const againMs = 100;
const timeoutMs = 5_000;

/**
 * One log-in serves a whole stop, and a KILL waits for the answer to the one before. Two at once for the same session
 * can keep everybody from logging in at MariaDB for seconds: the second waits for the first while it holds the server's
 * list of sessions.
 */
export class Stopper {
  readonly #open: (signal: AbortSignal) => Promise<SideSession>;
  #side: Promise<SideSession> | undefined;
  #users = 0;

  /** A side session lives no longer than the signal it is opened with. */
  constructor(open: (signal: AbortSignal) => Promise<SideSession>) {
    this.#open = open;
  }

  stopStatement({ busy, signal, onAsked }: StopStatement): Promise<void> {
    return this.#use(async (side) => {
      await side.kill('QUERY');
      onAsked();
      // What had not begun when it was killed begins all the same, so it is asked again while it runs.
      for (await sleep(againMs); busy() && !signal.aborted; await sleep(againMs)) await side.kill('QUERY');
    });
  }

  /** May be called while a statement is being stopped. */
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
