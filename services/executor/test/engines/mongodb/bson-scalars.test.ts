import { randomBytes, randomInt } from 'node:crypto';
import { Decimal128 } from 'mongodb';
import { expect, it } from 'vitest';
import { decimalText, writeDate, writeHex } from '../../../src/result/values/bson-scalars.ts';
import { ByteWriter } from '../../../src/result/values/primitives.ts';

const written = (write: (out: ByteWriter) => void): string => {
  const out = new ByteWriter(1);
  write(out);
  return out.buffer.toString('latin1', 0, out.position);
};

const dateOf = (ms: bigint) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(ms);
  return written((out) => writeDate(out, bytes, 0));
};

it('writes dates as JavaScript does, and others as milliseconds', () => {
  const some = [0, -1, 1, 951_782_400_000, 951_868_800_000, -62_167_219_200_000, -62_167_219_200_001];
  const all = [...some, 253_402_300_799_999, 253_402_300_800_000, 8_640_000_000_000_000];
  for (let i = 0; i < 20_000; i++) all.push(-62_200_000_000_000 + Math.floor(Math.random() * 316e12));
  for (const ms of all) expect(dateOf(BigInt(ms))).toBe(new Date(ms).toISOString());
  for (const ms of [8_640_000_000_000_001n, 2n ** 63n - 1n, -(2n ** 63n)])
    expect(dateOf(ms)).toBe(String(ms));
});

it('writes hexadecimal digits', () => {
  const bytes = randomBytes(300);
  expect(written((out) => writeHex(out, bytes, 0, bytes.length))).toBe(bytes.toString('hex'));
});

it('writes decimals as the driver does', () => {
  const texts = ['0', '-0', '0E+3', '0E-10', '1', '-1.50', '1E+3', '0.000001', '0.0000001', '1E-6176'];
  texts.push('9999999999999999999999999999999999', '9.999999999999999999999999999999999E+6144', 'NaN');
  texts.push('Infinity', '-Infinity', '9007199254740991', '9007199254740992', '18446744073709551616');
  const all = texts.map((text) => Buffer.from(Decimal128.fromString(text).bytes));
  for (let i = 0; i < 20_000; i++) {
    const bytes = randomBytes(16);
    // Usual exponents, and few digits in half of them.
    if (i % 4 !== 0) bytes.writeUInt16LE(0x3040 + 2 * randomInt(-40, 40), 14);
    if (i % 2 === 0) bytes.fill(0, randomInt(1, 14), 14);
    all.push(bytes);
  }
  for (const bytes of all) expect(decimalText(bytes, 0)).toBe(new Decimal128(bytes).toString());
});
