/** Lets other requests run while many rows or lines are read or written that need no waiting. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as atEndOfTurn } from 'node:timers';
import { FairQueue } from './fair-queue.ts';

const turnMs = 2;

/** The account that the work is for. */
const accounts = new AsyncLocalStorage<string>();

/** Runs work whose turns, and those of all that it begins, count for an account. */
export const forAccount = <T>(accountId: string, work: () => T): T => accounts.run(accountId, work);

/**
 * Creates a function that returns promises of which only one resolves in each iteration of the event loop: those of the
 * accounts in turn, and those of one account in order.
 */
export function createTurns(): (accountId?: string) => Promise<void> {
  const waiting = new FairQueue<() => void>();
  const next = () => {
    waiting.shift()?.();
    if (waiting.size > 0) atEndOfTurn(next);
  };
  return (accountId = accounts.getStore() ?? '') => {
    if (waiting.size === 0) atEndOfTurn(next);
    return new Promise((resolve) => waiting.push(accountId, resolve));
  };
}

/** All long work of a process takes turns, so that much of it at once delays others no more than one piece does. */
export const nextTurn = createTurns();

export interface TurnClock {
  /** Called before work that starts in this turn. */
  begin(): void;
  /** True once the work that began in this turn has taken so long that more should wait. */
  readonly isSpent: boolean;
}

/** Measures the work that starts in one turn of the event loop. Calls `onEnd` at the end of each turn with such work. */
export function createTurnClock(spentMs: number, onEnd = () => {}): TurnClock {
  let begunAt: number | undefined;
  const end = () => {
    begunAt = undefined;
    onEnd();
  };
  return {
    begin: () => {
      if (begunAt !== undefined) return;
      begunAt = performance.now();
      atEndOfTurn(end);
    },
    get isSpent() {
      return begunAt !== undefined && performance.now() - begunAt >= spentMs;
    },
  };
}

/** How many calls go on in one turn whose wait has ended in it. */
const goingOnMax = 16;

function createGoingOn(): () => Promise<void> | undefined {
  const waiting: (() => void)[] = [];
  let begun = 0;
  const endTurn = () => {
    const next = waiting.splice(0, goingOnMax);
    begun = next.length;
    if (begun > 0) atEndOfTurn(endTurn);
    for (const resolve of next) resolve();
  };
  return () => {
    if (begun === 0) atEndOfTurn(endTurn);
    if (begun < goingOnMax && waiting.length === 0) {
      begun++;
      return undefined;
    }
    return new Promise((resolve) => waiting.push(resolve));
  };
}

/**
 * To call when a wait is over that may end for thousands of calls in one turn: for one answer, a server that went away, or
 * a time. Returns a promise that resolves, in order, in a turn that has room; undefined if this one has.
 */
export const goOn = createGoingOn();

/** The same for a callback: calls it now or in a later turn. */
export function goOnWith(step: () => void): void {
  const turn = goOn();
  if (turn === undefined) step();
  else void turn.then(step);
}

/** Awaits what other calls await, too. Not all of them go on in the turn in which it settles. */
export async function joined<T>(shared: Promise<T>): Promise<T> {
  try {
    return await shared;
  } finally {
    await goOn();
  }
}

const piecesOfTurn = 500;

/** Waits for an own turn before work on many pieces, so that the work of calls that arrive together is not one turn. */
export const turnFor = (pieces: number): Promise<void> | undefined =>
  pieces > piecesOfTurn ? nextTurn() : undefined;

const charactersOfTurn = 16_384;

/** The same for a text that is read or written as a whole. */
export const turnForText = (characters: number): Promise<void> | undefined =>
  characters > charactersOfTurn ? nextTurn() : undefined;

/** Works on so many items at a time, and lets other requests run in between. The results are in the order of the items. */
export async function inGroups<T, R>(
  items: readonly T[],
  size: number,
  work: (item: T) => R | Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const mayYield = createLoopYield();
  for (let i = 0; i < items.length; i += size) {
    results.push(...(await Promise.all(items.slice(i, i + size).map(work))));
    await mayYield();
  }
  return results;
}

/** To call after each piece of work: what it returns is awaited. */
export type MayYield = () => Promise<void> | undefined;

/**
 * Creates a function to call after each piece of work. If the turn took too long, it returns a promise that resolves in a
 * new turn.
 */
export function createLoopYield(): MayYield {
  let startedAt = performance.now();
  return () => {
    if (performance.now() - startedAt < turnMs) return undefined;
    return nextTurn().then(() => {
      startedAt = performance.now();
    });
  };
}
