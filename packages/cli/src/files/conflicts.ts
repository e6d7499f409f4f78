/** What others changed between a plan and its apply. */

import { CommandError, exitCodes } from '../failure.ts';

export const hubChanged = () => new CommandError('The hub changed. Run this again.', exitCodes.conflict);

export const changedSincePlan = (kind: string, path: string) =>
  new CommandError(
    `Somebody changed the ${kind} ${path} since the plan. Look at it with plan, and run this again.`,
    exitCodes.conflict,
  );

/** Reads something with its ETag. */
export async function readWithETag<T>(
  read: (onResponse: (response: Response) => void) => Promise<T>,
): Promise<{ now: T; etag: string }> {
  let etag = '';
  const now = await read(({ headers }) => {
    etag = headers.get('etag') ?? '';
  });
  return { now, etag };
}
