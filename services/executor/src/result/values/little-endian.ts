/** Writes little-endian numbers in decimal digits. */

import { type FieldEncoder, writeAscii, writeInteger } from './primitives.ts';

/** Of at most 32 bits. */
export function integerEncoder(bits: 8 | 16 | 32, isUnsigned: boolean): FieldEncoder {
  switch (bits) {
    case 8:
      return isUnsigned
        ? (out, source, start) => writeInteger(out, source[start] as number)
        : (out, source, start) => writeInteger(out, source.readInt8(start));
    case 16:
      return isUnsigned
        ? (out, source, start) => writeInteger(out, source.readUInt16LE(start))
        : (out, source, start) => writeInteger(out, source.readInt16LE(start));
    case 32:
      return isUnsigned
        ? (out, source, start) => writeInteger(out, source.readUInt32LE(start))
        : (out, source, start) => writeInteger(out, source.readInt32LE(start));
  }
}

const exactMax = 999_999_999_999_999n;

/** `inQuotes`: which values are written in quotes; `long` means those of more than 15 digits. */
export function bigintEncoder(isUnsigned: boolean, inQuotes: 'all' | 'long' | 'none'): FieldEncoder {
  return (out, source, start) => {
    const high = source.readInt32LE(start + 4);
    // Most values are small and need no BigInt.
    if (high === 0 && inQuotes !== 'all') {
      writeInteger(out, source.readUInt32LE(start));
      return;
    }
    const value = isUnsigned ? source.readBigUInt64LE(start) : source.readBigInt64LE(start);
    const isExact = value <= exactMax && value >= -exactMax;
    const isBare = inQuotes === 'none' || (inQuotes === 'long' && isExact);
    writeAscii(out, isBare ? String(value) : `"${value}"`);
  };
}

export const writeDouble: FieldEncoder = (out, source, start) =>
  writeAscii(out, numberText(source.readDoubleLE(start)));

export const writeFloat: FieldEncoder = (out, source, start) =>
  writeAscii(out, shortestFloat(source.readFloatLE(start)));

/** Keeps the sign of negative zero, which JSON allows but String() drops. */
const numberText = (value: number) => (Object.is(value, -0) ? '-0' : String(value));

const normalFloatMin = 2 ** -126;

/**
 * Returns the fewest digits that parse to the same 32-bit number. The search starts at six digits, except for
 * subnormals.
 */
function shortestFloat(value: number): string {
  if (value === 0) return numberText(value);
  for (let digits = Math.abs(value) < normalFloatMin ? 1 : 6; digits < 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(Number(value.toPrecision(9)));
}
