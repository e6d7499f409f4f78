/** Bounds the answers that wait for COMMIT: those of one transaction, of an account, and of the process. */

import { transactionBounds } from '@datahub/contract/transactions';
import { HubError } from '@datahub/service-kit/call/error';
import { HeldBytes } from '@datahub/service-kit/held-bytes';

const bytesMax = 134_217_728;

/** Of one transaction. */
export class AnswerBytes {
  readonly #held: HeldBytes;
  readonly #accountId: string;
  #bytes = 0;

  constructor(held: HeldBytes, accountId: string) {
    this.#held = held;
    this.#accountId = accountId;
  }

  /** Throws RESULT_TOO_LARGE, or UNAVAILABLE if other transactions hold too much. */
  add(bytes: number): void {
    if (this.#bytes + bytes > transactionBounds.answerBytes) throw tooLarge();
    this.#held.hold(this.#accountId, bytes);
    this.#bytes += bytes;
  }

  release(): void {
    this.#held.release(this.#accountId, this.#bytes);
    this.#bytes = 0;
  }
}

/** Runs `work` for one transaction of the account. What it adds is held until it has ended. */
export type Hold = (accountId: string, work: (bytes: AnswerBytes) => Promise<void>) => Promise<void>;

/** For all transactions of a process. An account has half of the bytes. */
export function createHolding(): Hold {
  const held = new HeldBytes(bytesMax, { what: 'answers of transactions', end: 'their COMMIT' });
  return async (accountId, work) => {
    const bytes = new AnswerBytes(held, accountId);
    try {
      await work(bytes);
    } finally {
      bytes.release();
    }
  };
}

const tooLarge = () =>
  new HubError(
    'RESULT_TOO_LARGE',
    `The answers of all steps have more than ${transactionBounds.answerBytes / 1_048_576} MiB. Read fewer rows. Nothing was changed.`,
    { retryable: false },
  );
