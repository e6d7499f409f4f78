/** The texts of calls under way, counted by account: a bound on the memory they hold, and a fair share of it for each. */

import { HubError } from '@datahub/service-kit/call/error';

export interface TextBudget {
  /** Rejects at once where the account, or all together, have too many characters under way. */
  hold<T>(accountId: string, characters: number, call: () => Promise<T>): Promise<T>;
}

export interface TextBudgetOptions {
  accountMax: number;
  totalMax: number;
  /** An account has this much room even where the total is used up. */
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
  const held = new Map<string, number>();
  let total = 0;
  const move = (accountId: string, by: number) => {
    const own = (held.get(accountId) ?? 0) + by;
    total += by;
    if (own === 0) held.delete(accountId);
    else held.set(accountId, own);
  };
  return {
    hold: async (accountId, characters, call) => {
      const own = (held.get(accountId) ?? 0) + characters;
      // A single call is bounded by its own checks, so an idle account is never refused here.
      if (own > accountMax && own > characters) {
        throw new HubError(
          'RATE_LIMITED',
          `The account's calls under way would hold ${own} characters of text; at most ${accountMax} are processed at a time. Wait for an earlier call.`,
          { retryable: true, retryAfterMs },
        );
      }
      if (total + characters > totalMax && own > reserve) {
        throw new HubError('UNAVAILABLE', 'Too many long texts are being processed. Try again.', {
          retryable: true,
          retryAfterMs,
        });
      }
      move(accountId, characters);
      try {
        return await call();
      } finally {
        move(accountId, -characters);
      }
    },
  };
}
