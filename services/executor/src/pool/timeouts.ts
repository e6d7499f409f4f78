/** Bounds around what an engine adapter is asked for. */

import type { Connection } from '../engine.ts';
import { sourceUnreachable } from '../network/dialer.ts';

/** An adapter that does not heed its signal is not waited for, and what it opens too late is closed. */
export function openWithin(
  open: (signal: AbortSignal) => Promise<Connection>,
  controller: AbortController,
  timeoutMs: number,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const { signal } = controller;
    const timer = setTimeout(
      () => controller.abort(sourceUnreachable('The connect time-out passed.')),
      timeoutMs,
    );
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    open(signal).then(
      (connection) => {
        if (signal.aborted) return connection.close();
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        resolve(connection);
      },
      (err) => {
        clearTimeout(timer);
        reject(err);
      },
    );
  });
}

/** False when the connection failed or stayed silent. */
export function answersWithin(connection: Connection, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, timeoutMs, false);
    const settle = (alive: boolean) => {
      clearTimeout(timer);
      resolve(alive);
    };
    connection.ping().then(
      () => settle(true),
      () => settle(false),
    );
  });
}
