/** Sends a whole answer. */

import type { ExecutionReply } from '@datahub/executor-session/executor';
import type { CallContext } from '@datahub/service-kit/call/call';
import { cancelReason } from '../cancellation.ts';

const chunkBytesMax = 262_144;

/** Waits whenever the reader is behind. */
export async function sendBytes({ reply, ctx }: { reply: ExecutionReply; ctx: CallContext }, bytes: Buffer) {
  let drained: (() => void) | undefined;
  reply.onDrain(() => drained?.());
  const { signal } = ctx;
  const onAbort = () => drained?.();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (let at = 0; at < bytes.length; at += chunkBytesMax) {
      if (signal.aborted) throw cancelReason(signal, false);
      const isLast = at + chunkBytesMax >= bytes.length;
      const isReady = reply.chunk(bytes.subarray(at, at + chunkBytesMax), isLast);
      if (isReady || isLast) continue;
      await new Promise<void>((resolve) => {
        drained = resolve;
      });
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
