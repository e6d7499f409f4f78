/**
 * Labels of folders and sources and names of classifiers are not unique, so two applies at once can create the same one.
 * The one with the smaller id stays, and the apply that created the other one removes it.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError, exitCodes } from '../failure.ts';

/** Half a minute: the other apply needs a moment to look, on a busy machine some seconds. */
const looksMax = 60;
const pauseOfHalfASecond = () => sleep(500);

export interface Created {
  /** What was created, for the message. */
  what: string;
  id: string;
  /** The ids of all that have its name now, smallest first. */
  twins(): Promise<string[]>;
  remove(): Promise<unknown>;
  /** Waits before the next look. */
  pause?(): Promise<unknown>;
}

/**
 * Throws if the created one was removed. A hub can store the one with the smaller id after the other apply has looked,
 * which then keeps its own: a twin with a greater id that does not go away is such a one.
 */
export async function keepFirst({
  what,
  id,
  twins,
  remove,
  pause = pauseOfHalfASecond,
}: Created): Promise<void> {
  for (let look = 1; ; look++) {
    const ids = await twins();
    if (ids.length === 1 && ids[0] === id) return;
    if (ids[0] !== id || look === looksMax) break;
    await pause();
  }
  await remove();
  throw new CommandError(
    `Another apply created the ${what} at the same time. Run this again.`,
    exitCodes.conflict,
  );
}
