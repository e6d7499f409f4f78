/** Turns of the calls that keep much in memory, of which few may work at once. */

import { onAbort } from '@datahub/service-kit/call/abort';
import {
  type CallContext,
  type CallSignal,
  CallStop,
  type Deadline,
  type Deadlines,
  isDeadline,
  requirePrincipal,
} from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createFairSemaphore, type FairSemaphore } from '@datahub/service-kit/fair-semaphore';
import { cancelReason } from './execution-error.ts';

/** A turn that has taken longer ends if another account waits: nobody waits for the slow databases of others. */
const turnMs = 5_000;
const lookMs = 500;

/** Each keeps two results in memory. */
export const createDiffSemaphore = () => createFairSemaphore({ allMax: 2, accountMax: 1, waitingMax: 20 });
/** Each keeps up to 50 MB in memory. */
export const createSchemaSemaphore = () => createFairSemaphore({ allMax: 3, accountMax: 2, waitingMax: 20 });

export interface TurnOptions {
  turns: FairSemaphore;
  /** Such as "reads of schemas". */
  what: string;
  ctx: CallContext;
  now(): number;
  deadlines: Deadlines;
}

export class Turn implements Disposable {
  readonly #options: TurnOptions;
  readonly #accountId: string;
  readonly #stop = new CallStop();
  readonly #leaving: Disposable;
  #look: Deadline | undefined;
  #release: (() => void) | undefined;

  constructor(options: TurnOptions) {
    this.#options = options;
    const { ctx } = options;
    this.#accountId = requirePrincipal(ctx).accountId;
    this.#leaving = onAbort(ctx.signal, () => this.#stop.abort(ctx.signal.reason));
  }

  /** Aborts when the caller leaves, and with SOURCE_BUSY when the turn has taken long and another account waits. */
  get signal(): CallSignal {
    return this.#stop;
  }

  /**
   * Waits until few enough others work, and resolves to how long that took. Throws SOURCE_BUSY if too many wait, or if
   * the others took until the deadline of the call.
   */
  async begin(): Promise<number> {
    const { turns, what, ctx, now } = this.#options;
    const askedAt = now();
    this.#release = await turns.acquire(this.#accountId, ctx.signal).catch((err) => {
      if (isDeadline(ctx.signal.reason)) throw this.tookTheTime(err);
      if (ctx.signal.aborted) throw cancelReason(ctx.signal, false);
      throw busy(`Too many ${what} are waiting. Try again.`, err);
    });
    this.#lookIn(turnMs);
    return now() - askedAt;
  }

  /** The error of a call that waited for its turn too long. */
  tookTheTime(cause?: unknown): HubError {
    return busy(`Other ${this.#options.what} took most of the time of this call. Try again.`, cause);
  }

  #lookIn(delayMs: number): void {
    const { turns, what, deadlines } = this.#options;
    this.#look = deadlines.add(delayMs, () => {
      if (!turns.othersWait(this.#accountId)) return this.#lookIn(lookMs);
      const text = `This took longer than ${turnMs / 1_000} seconds, and other ${what} were waiting.`;
      this.#stop.abort(busy(`${text} Try again.`));
    });
  }

  [Symbol.dispose](): void {
    if (this.#look) this.#options.deadlines.remove(this.#look);
    this.#leaving[Symbol.dispose]();
    this.#release?.();
  }
}

const busy = (message: string, cause?: unknown) =>
  new HubError('SOURCE_BUSY', message, { cause, retryable: true });
