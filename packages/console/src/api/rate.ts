/** Calls beyond the rate of the key wait, one behind the other, until the hub takes them. */

import { signal } from '@preact/signals';
import { unlessAborted } from './unless-aborted.ts';

export interface Limit {
  /** Undefined if it is another limit than the rate of the key. */
  perMinute: number | undefined;
  /** When the first of the waiting calls goes on, in milliseconds of `performance.now()`. */
  until: number;
}

/** The limit that calls wait for. */
export const limit = signal<Limit | undefined>(undefined);

/** A call that waited so long fails. */
const waitMaxMs = 120_000;
const tooManyRequests = 429;

/** Settles when no earlier call waits. */
let turn: Promise<unknown> = Promise.resolve();
let waiting = 0;

/** Seconds until a call is taken again. */
export const retryAfterOf = ({ headers }: Pick<Response, 'headers'>): number | undefined => {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds : undefined;
};

/** Sends again what the hub refused because of a rate. Rejects as soon as `signal` is aborted. */
export async function sendInTurn<T extends Pick<Response, 'status' | 'headers'>>(
  send: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const first = waiting === 0 ? await send() : undefined;
  if (first !== undefined && first.status !== tooManyRequests) return first;
  const until = performance.now() + waitMaxMs;
  const mine = Promise.withResolvers<void>();
  const before = turn;
  turn = before.then(() => mine.promise);
  waiting++;
  try {
    await unlessAborted(before, signal);
    let response = first ?? (await send());
    while (response.status === tooManyRequests) {
      const pauseMs = (retryAfterOf(response) ?? 1) * 1_000;
      const next = performance.now() + pauseMs;
      if (next > until) break;
      limit.value = { perMinute: rateOf(response), until: next };
      await unlessAborted(new Promise((resolve) => setTimeout(resolve, pauseMs)), signal);
      response = await send();
    }
    return response;
  } finally {
    waiting--;
    if (waiting === 0) limit.value = undefined;
    mine.resolve();
  }
}

/** The rate in `RateLimit-Policy: "default";q=60;w=60`. */
function rateOf({ headers }: Pick<Response, 'headers'>): number | undefined {
  const rate = /^"default";q=(\d+)/.exec(headers.get('ratelimit-policy') ?? '')?.[1];
  return rate === undefined ? undefined : Number(rate);
}
