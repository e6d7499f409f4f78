/** Protects a driver's log-in from malformed input: drivers trust what a server sends. */

import { logInBytesMax } from './bounds.ts';

/** Replaces the server's message, which contains hosts and users. */
export const logInRefused = 'The source refuses the log-in. Check user, password and database.';

/**
 * Wraps a driver's read function for the time of the log-in. Too many bytes, or an exception in the driver, call `onFault`
 * once, where the exception would otherwise end the process.
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
      if (bytes > logInBytesMax) throw new RangeError('The server sent too many bytes during the log-in.');
      read(chunk);
    } catch (err) {
      over = true;
      onFault(err);
    }
  };
}
