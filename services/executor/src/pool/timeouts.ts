/** Time limits for calls of an engine adapter. */

import { onAbort } from '@datahub/service-kit/call/abort';
import { type Connection, sourceUnreachable } from '../ports/engine.ts';

/** Does not wait for an adapter that ignores its signal. A connection that opens too late is closed. */
export function openWithin(
  open: (signal: AbortSignal) => Promise<Connection>,
  controller: AbortController,
  timeoutMs: number,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const { signal } = controller;
    const timer = setTimeout(
      () => controller.abort(sourceUnreachable('The connect timeout expired.')),
      timeoutMs,
    );
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const listening = onAbort(signal, abort);
    open(signal).then(
      (connection) => {
        if (signal.aborted) return connection.close();
        clearTimeout(timer);
        listening[Symbol.dispose]();
        resolve(connection);
      },
      (err) => {
        clearTimeout(timer);
        reject(err);
      },
    );
  });
}

/** False if the ping fails or takes too long. */
export function isAlive(connection: Connection, timeoutMs: number): Promise<boolean> {
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
