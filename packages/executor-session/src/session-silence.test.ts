import type { SessionRequest, SessionResponse } from '@datahub/proto/executor/v1/executor';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openSession } from './session-client.ts';
import { pings } from './session-server.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => vi.useRealTimers());

it('pings, and gives up an executor that answers no longer', async () => {
  let asked = 0;
  async function* session(requests: AsyncIterable<SessionRequest>, ctx: { signal: AbortSignal }) {
    yield { replies: [], draining: false } satisfies SessionResponse;
    const iterator = requests[Symbol.asyncIterator]();
    const gone = new Promise<never>((_, reject) => {
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason));
    });
    for (;;) {
      await Promise.race([iterator.next(), gone]);
      // Two pings are answered; then the executor is there and says nothing.
      if (++asked <= 2) yield { replies: [], draining: false } satisfies SessionResponse;
    }
  }
  const onEnd = vi.fn();
  const opened = openSession({ session } as never, onEnd);
  const pass = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  await pass(0);
  for (let i = 0; i < 2; i++) await pass(pings.everyMs);
  expect(asked).toBe(2);
  expect(opened.open).toBe(true);
  for (let i = 0; i < 5; i++) await pass(pings.everyMs);
  expect(onEnd).toHaveBeenCalledWith(expect.objectContaining({ code: 'UNAVAILABLE' }));
  expect(opened.open).toBe(false);
});
