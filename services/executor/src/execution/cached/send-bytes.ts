/** Sends a whole answer. */

import type { ExecutionReply } from '@datahub/executor-session/executor';
import { onAbort } from '@datahub/service-kit/call/abort';
import type { CallContext } from '@datahub/service-kit/call/call';
import { cancelReason } from '../execution-error.ts';

const chunkBytesMax = 262_144;

interface To {
  reply: ExecutionReply;
  ctx: CallContext;
}

/** Returns a promise only if the answer takes several chunks. */
export function sendBytes(to: To, bytes: Buffer): void | Promise<void> {
  if (bytes.length > chunkBytesMax) return sendChunks(to, bytes);
  const { signal } = to.ctx;
  if (signal.aborted) throw cancelReason(signal, false);
  if (bytes.length > 0) to.reply.chunk(bytes, true);
}

/** Waits whenever the reader is behind. */
async function sendChunks({ reply, ctx }: To, bytes: Buffer): Promise<void> {
  let drained: (() => void) | undefined;
  reply.onDrain(() => drained?.());
  const { signal } = ctx;
  using _listening = onAbort(signal, () => drained?.());
  for (let at = 0; at < bytes.length; at += chunkBytesMax) {
    if (signal.aborted) throw cancelReason(signal, false);
    const isLast = at + chunkBytesMax >= bytes.length;
    const isReady = reply.chunk(bytes.subarray(at, at + chunkBytesMax), isLast);
    if (isReady || isLast) continue;
    await new Promise<void>((resolve) => {
      drained = resolve;
    });
  }
}
