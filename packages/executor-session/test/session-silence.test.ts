import { Format, type SessionRequest, type SessionResponse } from '@datahub/proto/executor/v1/executor';
import type { CallContext } from '@datahub/service-kit/call/call';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pings } from '../src/protocol.ts';
import { openSession } from '../src/session-client.ts';
import { serveSession } from '../src/session-server.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => vi.useRealTimers());

describe.each(['that answer at once', 'that run for long'])('a session busy with calls %s', (kind) => {
  it('stays open although every ping shares a batch with a call', async () => {
    const execute = () => (kind === 'that answer at once' ? Promise.resolve() : new Promise<void>(() => {}));
    const options = {
      callsMax: 100,
      draining: new AbortController().signal,
      onFailure: () => {},
      busy: { isBusy: false, watch: () => {}, onChange: () => {}, offChange: () => {}, close: () => {} },
    };
    const session = (requests: AsyncIterable<SessionRequest>, ctx: CallContext) =>
      serveSession({ execute }, requests, { ...ctx, options });
    const onEnd = vi.fn();
    const opened = openSession({ session }, onEnd);
    const turns = async () => {
      for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
    };
    await turns();
    const ctx = {
      requestId: 'r',
      deadlineAt: performance.now() + 600_000,
      signal: new AbortController().signal,
    };
    const reply = { chunk: () => true, onDrain: () => {} };
    const request = { queryId: 'q', contextJson: '', options: undefined, format: Format.FORMAT_JSON };
    const failed = vi.fn();
    for (let i = 0; i < 12; i++) {
      vi.advanceTimersByTime(pings.everyMs);
      opened.execute(request, ctx, reply).catch(failed);
      await turns();
    }
    expect(onEnd).not.toHaveBeenCalled();
    expect(failed).not.toHaveBeenCalled();
    expect(opened.open).toBe(true);
    opened.close();
  });
});

it('sends pings, and ends when the executor stops responding', async () => {
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
  for (let ms = 0; ms <= pings.silenceMaxMs; ms += pings.everyMs) await pass(pings.everyMs);
  expect(onEnd).toHaveBeenCalledWith(expect.objectContaining({ code: 'UNAVAILABLE' }));
  expect(opened.open).toBe(false);
});
