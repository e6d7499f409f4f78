/** Reads a streamed body in chunks. Each renews the deadline of the request, if its caller may still call. */

import type { IncomingMessage } from 'node:http';
import { HubError } from '@datahub/service-kit/call/error';
import { createLoopYield } from '@datahub/service-kit/yield-to-loop';
import type { FastifyRequest } from 'fastify';

export const importMediaTypes = ['application/x-ndjson', 'text/csv', 'application/csv'];

export const isCsv = ({ headers }: FastifyRequest): boolean =>
  /^(?:text|application)\/csv\b/i.test(headers['content-type'] ?? '');

export interface Pace {
  /** How long the hub waits for the next chunk before it calls `waited`. */
  readonly waitMs: number;
  /** Called for each chunk with the time that the hub waited for it. Throws if the body arrives too slowly. */
  took?(waitedMs: number, bytes: number): void;
  /** Called when nothing arrived for `waitMs`. Throws if the body arrives too slowly; else the wait begins anew. */
  waited(): void;
}

/** The request fails if no data arrives for so long. */
export const idlePace = (waitMs = 30_000): Pace => ({
  waitMs,
  waited: () => {
    throw new HubError('VALIDATION', `No data arrived for ${waitMs / 1_000} seconds.`);
  },
});

const slowWindowMs = 10_000;
const slowBytesMin = 640_000;

/** For a body that holds a transaction open: 64 kB a second, over 10 seconds of waiting for the client. */
export function uploadPace(windowMs = slowWindowMs, bytesMin = slowBytesMin): Pace {
  let waited = 0;
  let received = 0;
  const endWindow = () => {
    if (received < bytesMin)
      throw new HubError(
        'UPLOAD_TOO_SLOW',
        `Fewer than ${bytesMin} bytes of the body arrived in ${windowMs / 1_000} seconds. What was not committed is rolled back, because the transaction would hold its locks.`,
        { retryable: true },
      );
    waited = 0;
    received = 0;
  };
  return {
    get waitMs() {
      return windowMs - waited;
    },
    took: (waitedMs, bytes) => {
      waited += waitedMs;
      received += bytes;
      if (waited >= windowMs) endWindow();
    },
    waited: endWindow,
  };
}

/** `createBodyDrain` reads the rest of a body that is not read to its end. */
export async function* readChunks(request: FastifyRequest, pace = idlePace()): AsyncGenerator<Buffer> {
  const body = request.body as IncomingMessage;
  const chunks: AsyncIterator<Buffer> = body.iterator({ destroyOnReturn: false });
  const endOfTurn = createLoopYield();
  let isReading = false;
  try {
    for (;;) {
      isReading = true;
      const read = chunks.next();
      let startedAt = performance.now();
      while (!(await settlesWithin(read, pace.waitMs))) {
        pace.waited();
        startedAt = performance.now();
      }
      const { value, done } = await read;
      isReading = false;
      if (done === true) return;
      pace.took?.(performance.now() - startedAt, value.length);
      await request.context.requireCaller();
      request.context.renewDeadline();
      yield value;
      // A client that sends as fast as it can would otherwise keep the event loop for itself.
      await endOfTurn();
    }
  } finally {
    // If a read is pending, `return` waits for its data, which may never arrive. So it is not awaited then.
    const returned = chunks.return?.();
    if (!isReading) await returned;
  }
}

/** A read that is given up settles later, when the body ends or its connection closes. */
function settlesWithin(read: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, false);
    const settled = () => {
      clearTimeout(timer);
      resolve(true);
    };
    read.then(settled, settled);
  });
}
