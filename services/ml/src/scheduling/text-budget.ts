/**
 * Limits the text of all calls in progress, per account and in total. This bounds their memory and divides it fairly.
 */

import { HubError } from '@datahub/service-kit/call/error';
import { Usage } from '@datahub/service-kit/usage';

export interface TextBudget {
  /** Runs the call. Rejects at once if its account, or all accounts together, exceed their limit. */
  run<T>(accountId: string, characters: number, call: () => Promise<T>): Promise<T>;
}

export interface TextBudgetOptions {
  accountMax: number;
  totalMax: number;
  /** An account may use this much even if the total is used up. */
  reserve: number;
}

const defaults: TextBudgetOptions = {
  accountMax: 16 * 1024 ** 2,
  totalMax: 64 * 1024 ** 2,
  reserve: 1024 ** 2,
};
const retryAfterMs = 1_000;

export function createTextBudget(options: Partial<TextBudgetOptions> = {}): TextBudget {
  const { accountMax, totalMax, reserve } = { ...defaults, ...options };
  const usage = new Usage();
  return {
    run: async (accountId, characters, call) => {
      const own = usage.of(accountId) + characters;
      // Validation bounds the text of a single call, so an account without other calls is never refused here.
      if (own > accountMax && own > characters) {
        throw new HubError(
          'RATE_LIMITED',
          `With this call, the running calls of this account would have ${own} characters of text. At most ${accountMax} are allowed at a time. Try again after an earlier call has ended.`,
          { retryable: true, retryAfterMs },
        );
      }
      if (usage.all + characters > totalMax && own > reserve) {
        throw new HubError('UNAVAILABLE', 'The service is processing too many long texts. Try again.', {
          retryable: true,
          retryAfterMs,
        });
      }
      usage.add(accountId, characters);
      try {
        return await call();
      } finally {
        usage.add(accountId, -characters);
      }
    },
  };
}
