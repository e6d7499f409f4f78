/** Starts the calls of a service in several turns of the event loop if those that arrive together take long. */

import { setImmediate } from 'node:timers';
import { FairQueue } from '../fair-queue.ts';
import { createTurnClock } from '../yield-to-loop.ts';
import type { CallContext, Calls, ServiceDescription } from './call.ts';

/** After this long in a turn, further calls wait for the next one. */
const turnMs = 8;
/** Of those that wait, a turn starts this many, if they are short. */
const startedMax = 16;

/**
 * Wraps calls that compute at once, as those over SQLite do: without it, many that arrive together would be one turn,
 * with all that their callers do with the results. The accounts take turns. Streams are passed on as they are.
 */
export function inTurns<Service>(service: Service, calls: Calls<Service>): Calls<Service> {
  const methods = service as unknown as ServiceDescription;
  const enter = createStarts();
  const wrap =
    (call: (request: never, ctx: CallContext) => unknown) => (request: never, ctx: CallContext) => {
      const turn = enter(ctx.principal?.accountId ?? '');
      return turn === undefined ? call(request, ctx) : turn.then(() => call(request, ctx));
    };
  const wrapped = Object.entries<Parameters<typeof wrap>[0]>(calls).map(([name, call]) => [
    name,
    methods[name]?.requestStream || methods[name]?.responseStream ? call : wrap(call),
  ]);
  return Object.fromEntries(wrapped);
}

/** Returns a function that returns nothing if a call may start now, else the turn to wait for. */
function createStarts(): (accountId: string) => Promise<void> | undefined {
  const waiting = new FairQueue<() => void>();
  const clock = createTurnClock(turnMs, () => {
    // What a call does at once is done before the next of these.
    for (let i = 0; i < Math.min(waiting.size, startedMax); i++) setImmediate(startNext);
  });
  const startNext = (): void => {
    if (clock.isSpent) return;
    clock.begin();
    waiting.shift()?.();
  };

  return (accountId) => {
    clock.begin();
    if (waiting.size === 0 && !clock.isSpent) return undefined;
    return new Promise((resolve) => waiting.push(accountId, resolve));
  };
}
