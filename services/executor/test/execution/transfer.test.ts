import { type ExecuteRequest, Format } from '@datahub/proto/executor/v1/executor';
import type { CallContext } from '@datahub/service-kit/call/call';
import { expect, it } from 'vitest';
import { Execution } from '../../src/execution/execution-state.ts';
import type { PreparedQuery } from '../../src/execution/prepare.ts';
import type { Lease } from '../../src/pool/pool-types.ts';
import { Transfers } from '../../src/pool/transfers.ts';
import { key, query } from '../fakes/pipeline.ts';

const limits = { timeoutMs: 10_000, bytesPerSecondMin: 100 };

/** An execution with a timeout of a second, whose client takes bytes when `ready` is true. */
function start({ transfers = new Transfers(10), deadlineAt = 60_000 } = {}) {
  const client = { ready: true, drained: () => {} };
  const clock = { now: 0 };
  const reply = {
    chunk: () => client.ready,
    onDrain: (listener: () => void) => {
      client.drained = listener;
    },
  };
  const ctx = { principal: key, deadlineAt } as unknown as CallContext;
  const execution = new Execution({ format: Format.FORMAT_JSON } as ExecuteRequest, ctx, {
    reply,
    now: () => clock.now,
  });
  execution.onPrepared(query, {} as PreparedQuery, 1_000);
  execution.onConnection({ uses: 1 } as Lease);
  execution.onDrain(() => {});
  return {
    execution,
    send: (at: number, bytes: number, ready = true) => {
      clock.now = at;
      client.ready = ready;
      execution.chunk(Buffer.alloc(bytes));
    },
    drain: (at: number) => {
      clock.now = at;
      client.drained();
    },
    extend: (at: number) => {
      clock.now = at;
      return execution.extendTimeout(0, transfers, limits);
    },
  };
}

const tooLong = expect.objectContaining({ message: expect.stringContaining('took longer than allowed') });
const tooSlow = expect.objectContaining({ message: expect.stringContaining('read more slowly than') });

it('ends at its timeout if the client made it wait never, or for less', () => {
  const prompt = start();
  prompt.send(500, 10_000);
  expect(prompt.extend(1_000)).toEqual(tooLong);
  const paused = start();
  paused.send(200, 10_000, false);
  paused.drain(700);
  expect(paused.extend(1_000)).toBe(1_500);
  expect(paused.extend(1_500)).toEqual(tooLong);
});

it('goes on while the client makes it wait, at its least rate, up to the limit of a transfer', () => {
  const { send, extend } = start();
  send(100, 10_000, false);
  expect(extend(1_000)).toBe(1_900);
  expect(extend(1_900)).toBe(2_800);
  expect(extend(9_900)).toBe(10_000);
  expect(extend(10_000)).toEqual(tooSlow);
  const slow = start();
  slow.send(100, 200, false);
  expect(slow.extend(1_000)).toBe(1_900);
  expect(slow.extend(2_001)).toEqual(tooSlow);
});

it('counts the time of the call in the same way', () => {
  const { send, extend } = start({ deadlineAt: 500 });
  send(400, 10_000, false);
  expect(extend(500)).toBe(600);
  expect(extend(700)).toBe(800);
});

it('leaves half of the pool to others: the slowest is cut', () => {
  const transfers = new Transfers(5);
  const [fast, slow, middle] = [90_000, 1_000, 9_000].map((bytes) => {
    const one = start({ transfers });
    one.send(100, bytes, false);
    return one;
  });
  expect([fast?.extend(1_000), slow?.extend(1_000), middle?.extend(1_000)]).toEqual([1_900, 1_900, 1_900]);
  expect([fast?.extend(1_900), slow?.extend(1_900), middle?.extend(1_900)]).toEqual([2_800, tooSlow, 2_800]);
  fast?.execution.leave(transfers);
  const next = start({ transfers });
  next.send(100, 500, false);
  expect([next.extend(1_000), middle?.extend(2_800)]).toEqual([1_900, 3_700]);
});
