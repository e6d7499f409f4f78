import {
  ExecutorServiceService,
  type SessionRequest,
  type SessionResponse,
} from '@datahub/proto/executor/v1/executor';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromBytes, requestFromBytes, requestToBytes, toBytes } from '../src/codec.ts';

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

it('reads a repeated chunk and unknown fields as the generated code does', () => {
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

describe('calls', () => {
  const text = fc.oneof(fc.string({ maxLength: 60 }), fc.string({ unit: 'binary', maxLength: 20 }));
  const uint32 = fc.integer({ min: 0, max: 0xffffffff });
  const orNone = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
  const limits = fc.record({
    hubIds: fc.array(text, { maxLength: 2 }),
    queryIds: fc.array(text, { maxLength: 2 }),
    classifierIds: fc.array(text, { maxLength: 2 }),
    queries: fc.array(text, { maxLength: 2 }),
    origins: fc.array(text, { maxLength: 2 }),
    contextJson: text,
    ratePerMinute: orNone(uint32),
    maxRows: orNone(uint32),
  });
  const principal = fc.record({
    accountId: text,
    keyId: text,
    scopes: fc.array(text, { maxLength: 3 }),
    limits: orNone(limits),
  });
  const options = fc.record({
    timeoutMs: orNone(uint32),
    maxRows: orNone(uint32),
    maxAffected: orNone(uint32),
    version: orNone(uint32),
    dryRun: fc.boolean(),
    meta: fc.boolean(),
    numbersAsStrings: fc.boolean(),
    exactNumbers: orNone(fc.boolean()),
  });
  const execution = fc.record({
    queryId: text,
    contextJson: text,
    options: orNone(options),
    format: fc.constantFrom(0, 1, 2, 3),
  });
  const batch = fc.record({
    records: fc.array(text, { maxLength: 3 }),
    lines: fc.array(uint32, { maxLength: 3 }),
  });
  const callsBy = (principals: fc.Arbitrary<SessionRequest['calls'][number]['principal']>) =>
    fc.array(
      fc.record({
        sequence: uint32,
        principal: principals,
        request: orNone(execution),
        deadlineMs: uint32,
        requestId: text,
        traceparent: text,
      }),
      { maxLength: 4 },
    );
  const request = fc.array(principal, { minLength: 1, maxLength: 2 }).chain((few) =>
    fc.record({
      calls: callsBy(fc.constantFrom(undefined, ...few)),
      cancelled: fc.array(uint32, { maxLength: 3 }),
      windows: fc.array(fc.record({ sequence: uint32, bytes: uint32 }), { maxLength: 3 }),
      inputs: fc.array(fc.record({ sequence: uint32, batch: orNone(batch) }), { maxLength: 3 }),
    }),
  );

  it('are written and read as by the generated code, whatever is in them', () => {
    const check = (sent: SessionRequest) => {
      const bytes = generated.requestSerialize(sent);
      const expected = generated.requestDeserialize(bytes);
      expect(generated.requestDeserialize(requestToBytes(sent))).toEqual(expected);
      expect(requestFromBytes(bytes)).toEqual(expected);
      expect(requestFromBytes(requestToBytes(sent))).toEqual(expected);
    };
    fc.assert(fc.property(request, check), { numRuns: 300 });
  });

  it('may come from a key that is narrowed to very many things', () => {
    const queryIds = Array.from({ length: 500 }, (_, i) => `dh.q.${i}`.padEnd(35, 'x'));
    const limits = { hubIds: [], queryIds, classifierIds: [], queries: [], origins: [], contextJson: '' };
    const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits };
    const call = {
      sequence: 1,
      principal,
      request: undefined,
      deadlineMs: 1,
      requestId: 'r',
      traceparent: '',
    };
    const bytes = requestToBytes({ calls: [call, call], cancelled: [], windows: [], inputs: [] });
    expect(requestFromBytes(bytes)).toEqual(generated.requestDeserialize(bytes));
  });

  it('may hold a principal twice, of which the last counts, and fields that are not known', () => {
    const one = Buffer.from([0x12, 0x03, 0x0a, 0x01, 0x61]);
    const other = Buffer.from([0x12, 0x03, 0x0a, 0x01, 0x62]);
    const unknown = Buffer.from([0xf8, 0x01, 0x05]);
    for (const parts of [
      [one, other, unknown],
      [one, Buffer.from([0x08, 0x07]), other],
      [unknown, one],
    ]) {
      const call = Buffer.concat(parts);
      const bytes = Buffer.concat([Buffer.from([0x0a, call.length]), call, unknown]);
      expect(requestFromBytes(bytes)).toEqual(generated.requestDeserialize(bytes));
    }
  });

  it('are refused if they are cut short', () => {
    const call = { sequence: 1, principal: undefined, request: undefined, deadlineMs: 1 };
    const cut = { ...call, requestId: 'a'.repeat(50), traceparent: '' };
    const whole = requestToBytes({ calls: [cut], cancelled: [], windows: [], inputs: [] });
    for (let length = 1; length < whole.length; length++)
      expect(() => requestFromBytes(whole.subarray(0, length))).toThrow(RangeError);
  });
});
