/** Reads a body as a stream. It may take any time as long as data keeps arriving. */

import type { IncomingMessage } from 'node:http';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';

/** The request fails if no data arrives for this long. */
const idleMaxMs = 30_000;

/**
 * Each chunk renews the deadline of the request. `createBodyDrain` reads the rest of a body that is not read to its
 * end.
 */
export async function* readChunks(request: FastifyRequest, idleMs = idleMaxMs): AsyncGenerator<Buffer> {
  const body = request.body as IncomingMessage;
  const chunks: AsyncIterator<Buffer> = body.iterator({ destroyOnReturn: false });
  let isReading = false;
  try {
    for (;;) {
      isReading = true;
      const { value, done } = await withTimeout(chunks.next(), idleMs);
      isReading = false;
      if (done === true) return;
      request.context.renewDeadline();
      yield value;
    }
  } finally {
    // If a read is pending, `return` waits for its data, which may never arrive. So it is not awaited then.
    const returned = chunks.return?.();
    if (!isReading) await returned;
  }
}

/** Rejects after `idleMs`. The pending read itself settles later, when the body ends or its connection closes. */
function withTimeout<T>(read: Promise<T>, idleMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new HubError('VALIDATION', `No data arrived for ${idleMs / 1_000} seconds.`)),
      idleMs,
    );
    read.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
