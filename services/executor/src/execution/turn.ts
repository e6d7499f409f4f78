/** Turns of the calls that keep much in memory, of which few may work at once. */

import { type CallContext, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createFairSemaphore, type FairSemaphore } from '@datahub/service-kit/fair-semaphore';
import { cancelReason, timedOut } from './execution-error.ts';

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
}

export class Turn implements Disposable {
  readonly #options: TurnOptions;
  readonly #accountId: string;
  #beganAt = Infinity;
  #release: (() => void) | undefined;
  #hasEnded = false;

  constructor(options: TurnOptions) {
    this.#options = options;
    this.#accountId = requirePrincipal(options.ctx).accountId;
  }

  /**
   * Waits until few enough others work. Throws SOURCE_BUSY if too many wait, and STATEMENT_TIMEOUT if the turn was disposed of
   * meanwhile.
   */
  async begin(): Promise<void> {
    const { turns, what, ctx, now } = this.#options;
    const release = await turns.acquire(this.#accountId, ctx.signal).catch((err) => {
      if (ctx.signal.aborted) throw cancelReason(ctx.signal, now() >= ctx.deadlineAt);
      throw busy(`Too many ${what} are waiting. Try again.`, err);
    });
    if (this.#hasEnded) {
      release();
      throw cancelReason(ctx.signal, true);
    }
    this.#release = release;
    this.#beganAt = now();
  }

  /** Returns when to look again, until `deadlineAt`, or why the work must end. */
  extend(deadlineAt: number): number | HubError {
    const { turns, what, now } = this.#options;
    const at = now();
    if (at >= deadlineAt) return timedOut();
    if (at - this.#beganAt >= turnMs && turns.othersWait(this.#accountId))
      return busy(
        `This took longer than ${turnMs / 1_000} seconds at the database, and other ${what} were waiting. Try again.`,
      );
    return Math.min(deadlineAt, at + lookMs);
  }

  [Symbol.dispose](): void {
    this.#hasEnded = true;
    this.#release?.();
  }
}

const busy = (message: string, cause?: unknown) =>
  new HubError('SOURCE_BUSY', message, { cause, retryable: true });
