/** Reads a body as a stream. It may take any time as long as data keeps arriving. */

import type { IncomingMessage } from 'node:http';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';

/** Without data for so long, the request fails. */
const idleMaxMs = 30_000;

/** Each chunk renews the deadline of the request. The rest of a body that is not read to its end is left to its drain. */
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
    // After a pending read this waits for the data that did not arrive.
    const returned = chunks.return?.();
    if (!isReading) await returned;
  }
}

/** The pending read settles when the body ends or its connection closes. */
function withTimeout<T>(read: Promise<T>, idleMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new HubError('VALIDATION', `No data arrived for ${idleMs / 1_000} seconds.`)),
      idleMs,
    );
    read.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
