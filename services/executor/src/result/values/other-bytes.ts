/** Writes values that databases send as bits or hexadecimal digits. */

import { malformedError } from './malformed.ts';
import { type FieldEncoder, writeAscii, writeBase64 } from './primitives.ts';

/** Writes bytes, given in hexadecimal digits after `\x`, as base64. */
export const writeHexAsBase64: FieldEncoder = (out, source, start, end) => {
  const bytes = Buffer.from(source.toString('latin1', start + 2, end), 'hex');
  writeBase64(out, bytes, 0, bytes.length);
};

/** Writes bytes, given in hexadecimal digits after `\x`. */
export const writeHexAsBytes: FieldEncoder = (out, source, start, end) => {
  const bytes = (end - start - 2) >> 1;
  if (bytes < 0) throw malformedError('bytes that do not begin with \\x');
  out.reserve(bytes);
  out.position += out.buffer.write(source.toString('latin1', start + 2, end), out.position, bytes, 'hex');
};

/** Of BIT in MySQL and MariaDB. */
const bitsMax = 64;

/** Writes big-endian bytes as `width` binary digits. The time for each byte grows with their number. */
export function bitsEncoder(width: number): FieldEncoder {
  return (out, source, start, end) => {
    if (width > bitsMax || 8 * (end - start) > bitsMax) throw malformedError(`more than ${bitsMax} bits`);
    let value = 0n;
    for (let i = start; i < end; i++) value = (value << 8n) | BigInt(source[i] as number);
    writeAscii(out, value.toString(2).padStart(width, '0'));
  };
}

/** The encoder of digits that zeros can precede, which JSON numbers must not have. */
export function withoutLeadingZeros(encode: FieldEncoder): FieldEncoder {
  return (out, source, start, end) => {
    let from = start;
    while (from + 1 < end && source[from] === 0x30 && source[from + 1] !== 0x2e) from++;
    encode(out, source, from, end);
  };
}
