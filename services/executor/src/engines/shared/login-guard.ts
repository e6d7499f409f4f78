/** Keeps what a server sends during the log-in from doing harm: drivers read it, and trust it. */

import { logInBytesMax } from './bounds.ts';

/** Servers say little of it, on purpose, and what they say holds hosts and users. */
export const logInRefused = 'The source refuses the log-in. Check user, password and database.';

/**
 * A driver's way to take bytes, bounded: what is too much and what the driver stumbles over both end in `onFault`, once,
 * instead of an exception that nobody catches.
 */
export function guardLogIn(
  read: (chunk: Buffer) => void,
  onFault: (err: unknown) => void,
): (chunk: Buffer) => void {
  let bytes = 0;
  let over = false;
  return (chunk) => {
    if (over) return;
    bytes += chunk.length;
    try {
      if (bytes > logInBytesMax) throw new RangeError('The log-in is longer than any server makes it.');
      read(chunk);
    } catch (err) {
      over = true;
      onFault(err);
    }
  };
}
