/**
 * Bodies that nobody reads. Closing the connection under them would reset it and often lose the answer, so they are
 * read to their end, for as long as a request may take; but slowly, so that other requests do not wait for them.
 */

import type { IncomingMessage } from 'node:http';

/** Of all such bodies together: so many chunks (of at most 64 KiB) in so long. */
const chunksMax = 1;
const everyMs = 1;

const bodyless = new Set(['GET', 'HEAD']);

/** True for what the framework answers without looking at the body. */
export const isIgnoredBody = (request: IncomingMessage): boolean =>
  bodyless.has(request.method ?? '') && hasBody(request);

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

export function createRefusedBodies(): (request: IncomingMessage) => void {
  const waiting: IncomingMessage[] = [];
  let isRunning = false;

  const next = (): void => {
    for (const request of waiting.splice(0, chunksMax)) request.resume();
    isRunning = waiting.length > 0;
    if (isRunning) setTimeout(next, everyMs);
  };

  return (request) => {
    if (request.complete || !hasBody(request)) return;
    request.on('data', () => {
      request.pause();
      waiting.push(request);
      if (!isRunning) setTimeout(next, everyMs);
      isRunning = true;
    });
    request.on('error', () => {});
    request.resume();
  };
}
