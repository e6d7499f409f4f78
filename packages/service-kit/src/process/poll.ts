/** Asks a service for work, again and again, one call at a time. */

import { HubError } from '../call/error.ts';

export interface PollOptions {
  everyMs: number;
  /** Whether more work can be taken now. */
  hasPlace(): boolean;
  /** Asks once, and begins what it gets. */
  take(): Promise<Taken>;
  onFailure(err: unknown): void;
}

/**
 * `more`: there can be more, which is taken soon. `some`: it began something, or cannot tell whether something comes
 * that it is not told of. With `none`, all that comes within `forMs` is something that `expectWork` is called for, so that
 * the poll may rest.
 */
export type Taken = 'more' | 'some' | { none: true; forMs: number };

export interface Poll {
  /** There may be work that the poll was not told of: it asks as often as usual for a while. */
  expectWork(): void;
  /** For how long it has been due to ask, and could not. */
  lateMs(): number;
  /** Asks no more, and resolves when the call that is in progress has ended. */
  stop(): Promise<void>;
}

/** The pause while there is more work is shorter by this factor. */
const soonerBy = 10;
/** A timer can fire this much too early. */
const earlyMs = 5;

/** After so many asks without work a poll rests: it asks less often by this factor. */
const restAfter = 10;
const restTimes = 4;

/**
 * The pause that is at least so long. All polls of a process ask at multiples of their usual pauses, so that an idle
 * process wakes for several of them at once.
 */
function pauseOf(everyMs: number, atLeastMs = 0): number {
  const leftMs = everyMs - ((performance.now() + atLeastMs) % everyMs);
  return atLeastMs + (leftMs > Math.min(earlyMs, everyMs / soonerBy) ? leftMs : leftMs + everyMs);
}

export const startPolling = (options: PollOptions): Poll => new Polling(options);

class Polling implements Poll {
  readonly #options: PollOptions;
  #taking: Promise<void> | undefined;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  /** Asks in a row that found nothing. */
  #empty = 0;
  #isResting = false;
  /** When it was to ask after it last could. */
  #dueAt = 0;

  constructor(options: PollOptions) {
    this.#options = options;
    this.#next(pauseOf(options.everyMs));
  }

  expectWork(): void {
    this.#empty = 0;
    if (this.#isResting) this.#next(pauseOf(this.#options.everyMs));
  }

  lateMs(): number {
    return Math.max(0, performance.now() - this.#dueAt);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#taking;
  }

  #next(pauseMs: number): void {
    this.#dueAt = performance.now() + pauseMs;
    this.#wait(pauseMs);
  }

  #wait(ms: number): void {
    this.#isResting = false;
    clearTimeout(this.#timer);
    if (!this.#isStopped) this.#timer = setTimeout(() => this.#ask(), ms).unref();
  }

  #ask(): void {
    this.#isResting = false;
    const { everyMs, hasPlace, take, onFailure } = this.#options;
    if (!hasPlace()) {
      this.#wait(everyMs / soonerBy);
      return;
    }
    this.#empty++;
    this.#taking = take().then(
      (taken) => this.#goOn(taken),
      (err) => {
        onFailure(err);
        this.#empty = 0;
        this.#wait(pauseOf(everyMs));
      },
    );
  }

  #goOn(taken: Taken): void {
    const { everyMs } = this.#options;
    if (typeof taken === 'string') this.#empty = 0;
    const isIdle = typeof taken === 'object' && this.#empty >= restAfter;
    if (isIdle) this.#next(pauseOf(everyMs, Math.min(taken.forMs, (restTimes - 1) * everyMs)));
    else this.#next(taken === 'more' ? everyMs / soonerBy : pauseOf(everyMs));
    this.#isResting = isIdle;
  }
}

/** Passes failures on, but not that a service is away: what failed is tried again by a later poll. */
export const unlessUnavailable =
  (onFailure: (err: unknown) => void) =>
  (err: unknown): void => {
    if (!(err instanceof HubError) || err.code !== 'UNAVAILABLE') onFailure(err);
  };
