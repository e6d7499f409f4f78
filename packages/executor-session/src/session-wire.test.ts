import { ExecutorServiceService, type SessionResponse } from '@datahub/proto/executor/v1/executor';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fromBytes, toBytes } from './session-wire.ts';

const generated = ExecutorServiceService.session;
const lengths = fc.oneof(fc.nat(300), fc.constantFrom(4_095, 4_096, 16_383, 16_384, 65_536, 262_144));
const error = { code: 'SOURCE_BUSY', message: 'Busy.', faults: [], stage: 'queue', retryable: true };
const reply = fc.record({
  sequence: fc.integer({ min: 0, max: 0xffffffff }),
  chunk: lengths.map((length) => Buffer.alloc(length, length & 0xff)),
  done: fc.boolean(),
  error: fc.constantFrom(undefined, error),
});
const message = fc.record({ replies: fc.array(reply, { maxLength: 4 }), draining: fc.boolean() });

it('writes and reads the same messages as the generated code, whatever the lengths', () => {
  const check = (sent: SessionResponse) => {
    const bytes = generated.responseSerialize(sent);
    for (const read of [
      generated.responseDeserialize(toBytes(sent)),
      fromBytes(bytes),
      fromBytes(toBytes(sent)),
    ]) {
      expect(generated.responseSerialize(read).equals(bytes)).toBe(true);
    }
  };
  fc.assert(fc.property(message, check), { numRuns: 300 });
});

it('takes a chunk that stands twice, and fields it does not know, as the generated code does', () => {
  const chunk = Buffer.concat([Buffer.from([0x12, 0x88, 0x27]), Buffer.alloc(5_000, 2)]);
  const unknown = Buffer.from([0xf8, 0x01, 0x05]);
  const twice = Buffer.concat([chunk, unknown, chunk, Buffer.from([0x08, 0x09])]);
  const head = Buffer.from([0x0a, 0x80 | (twice.length & 0x7f), twice.length >> 7]);
  const bytes = Buffer.concat([head, twice, unknown]);
  expect(fromBytes(bytes)).toEqual(generated.responseDeserialize(bytes));
});

it('refuses what is cut short', () => {
  const whole = toBytes({
    replies: [{ sequence: 1, chunk: Buffer.alloc(9_000, 1), done: false }],
    draining: false,
  });
  expect(() => fromBytes(whole.subarray(0, 8_000))).toThrow(RangeError);
});
