/**
 * Reads decimal digits into little-endian words of 32 bits, without a JavaScript value for numbers that a double does
 * not represent. The readers return false if the number does not fit.
 */

const minus = 0x2d;
const point = 0x2e;
const zero = 0x30;
const nine = 0x39;
const letterE = 0x65;
const wordValues = 4_294_967_296;
/** A whole number of up to this many digits is exact in a double. */
const exactDigitsMax = 15;

const powers = Float64Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);

/** Up to this many digits are a number of 32 bits, with which V8 computes in half the time that doubles take. */
const wordDigitsMax = 9;

/** Reads a number of at most 15 digits, or of any length that a double represents. */
export function readShort(source: Buffer, start: number, end: number): number {
  const isNegative = source[start] === minus;
  let i = isNegative ? start + 1 : start;
  let first = 0;
  for (const stop = Math.min(end, i + wordDigitsMax); i < stop; i++)
    first = (first * 10 + (source[i] as number) - zero) | 0;
  let value = first;
  for (; i < end; i++) value = value * 10 + (source[i] as number) - zero;
  return isNegative ? 0 - value : value;
}

/** Where a value goes: words of an array, from an index on. */
export interface Place<A> {
  array: A;
  at: number;
}

/** Writes a field's value at a place. Returns false if the type has no such value; null stands for NULL. */
export type Put<A> = (to: Place<A>, source: Buffer, start: number, end: number) => boolean | null;

/** Writes a whole number that a double represents exactly as two words. */
export function putExact({ array, at }: Place<Int32Array>, value: number): void {
  array[at] = value;
  array[at + 1] = Math.floor(value / wordValues);
}

/** Writes `seconds` and `micros`, which is not negative, as microseconds. */
export function putMicros({ array, at }: Place<Int32Array>, seconds: number, micros: number): boolean {
  // A year of 64-bit microseconds does not fit a double. Each part of this product does.
  const low = (seconds >>> 0) * 1_000_000 + micros;
  const high = Math.floor(seconds / wordValues) * 1_000_000 + Math.floor(low / wordValues);
  array[at] = low;
  array[at + 1] = high;
  return high >= -2_147_483_648 && high < 2_147_483_648;
}

export const putInteger: Put<Int32Array> = (to, source, start, end) => {
  if (end - start > exactDigitsMax)
    return putLong(to.array.subarray(to.at, to.at + 2), { source, start, end }, 0);
  putExact(to, readShort(source, start, end));
  return true;
};

interface Digits {
  source: Buffer;
  start: number;
  end: number;
}

/** The number of words of a decimal. */
export const decimalWords = 4;

/** Reads digits, perhaps with a sign and a point, as a multiple of 10^-scale. */
export const decimalPut =
  (precision: number, scale: number): Put<Int32Array> =>
  (to, source, start, end) => {
    const { array, at } = to;
    let value = 0;
    let count = 0;
    let fraction = 0;
    const isNegative = source[start] === minus;
    for (let i = isNegative ? start + 1 : start; i < end; i++) {
      const byte = source[i] as number;
      if (byte === point) {
        fraction = end - i - 1;
        continue;
      }
      if (byte < zero || byte > nine) return false;
      if (count > 0 || byte > zero) count++;
      value = value * 10 + byte - zero;
    }
    const missing = scale - fraction;
    if (missing < 0 || count + missing > precision) return false;
    if (count + missing > exactDigitsMax)
      return putLong(array.subarray(at, at + decimalWords), { source, start, end }, missing);
    value *= powers[missing] as number;
    putExact(to, isNegative ? 0 - value : value);
    array[at + 2] = isNegative && value > 0 ? -1 : 0;
    array[at + 3] = array[at + 2] as number;
    return true;
  };

/** A product of a word and a million, with a carry, is exact in a double. */
const groupDigits = 6;

/** Reads all digits, and multiplies by 10^zeros. */
function putLong(words: Int32Array, { source, start, end }: Digits, zeros: number): boolean {
  words.fill(0);
  const isNegative = source[start] === minus;
  let [group, count] = [0, 0];
  let carry = 0;
  for (let i = isNegative ? start + 1 : start; i < end; i++) {
    const byte = source[i] as number;
    if (byte === point) continue;
    group = group * 10 + byte - zero;
    count++;
    if (count < groupDigits) continue;
    carry += multiplyAdd(words, 1_000_000, group);
    [group, count] = [0, 0];
  }
  carry += multiplyAdd(words, powers[count] as number, group);
  for (let left = zeros; left > 0; left -= groupDigits)
    carry += multiplyAdd(words, powers[Math.min(left, groupDigits)] as number, 0);
  // The lowest number has no positive counterpart; it is its own negative.
  if (isNegative) negate(words);
  const top = words[words.length - 1] as number;
  return carry === 0 && (isNegative ? top < 0 || words.every((word) => word === 0) : top >= 0);
}

/** Returns what exceeds the words. */
function multiplyAdd(words: Int32Array, factor: number, addend: number): number {
  let carry = addend;
  for (let i = 0; i < words.length; i++) {
    const product = ((words[i] as number) >>> 0) * factor + carry;
    words[i] = product;
    carry = Math.floor(product / wordValues);
  }
  return carry;
}

function negate(words: Int32Array): void {
  let carry = 1;
  for (let i = 0; i < words.length; i++) {
    const sum = (~(words[i] as number) >>> 0) + carry;
    words[i] = sum;
    carry = sum >= wordValues ? 1 : 0;
  }
}

/** Reads at most nine digits with perhaps a point. Returns NaN for others. */
function readShortDouble(source: Buffer, start: number, end: number): number {
  let value = 0;
  let fraction = 0;
  for (let i = start; i < end; i++) {
    const byte = source[i] as number;
    if (byte >= zero && byte <= nine) value = (value * 10 + byte - zero) | 0;
    else if (byte === point) fraction = end - i - 1;
    else return Number.NaN;
  }
  return value / (powers[fraction] as number);
}

/**
 * Reads digits with perhaps a point and an exponent, `NaN`, `Infinity` or `-Infinity`. At most 15 digits times or by a
 * power of ten up to 22 are exact ("How to Read Floating Point Numbers Accurately", Clinger); others take a string.
 */
export function readDouble(source: Buffer, start: number, end: number): number {
  const isNegative = source[start] === minus;
  const first = isNegative ? start + 1 : start;
  if (end - first <= wordDigitsMax) {
    const short = readShortDouble(source, first, end);
    if (!Number.isNaN(short)) return isNegative ? -short : short;
  }
  let value = 0;
  let i = first;
  for (; i < end; i++) {
    const digit = (source[i] as number) - zero;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  // A first zero is none of the digits that count.
  let digits = source[first] === zero ? i - first - 1 : i - first;
  let exponent = 0;
  if (i < end && source[i] === point) {
    const fraction = ++i;
    for (; i < end; i++) {
      const digit = (source[i] as number) - zero;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    digits += i - fraction;
    exponent = fraction - i;
  }
  if (i < end) {
    if (source[i] !== letterE || end - i > 5) return Number(source.toString('latin1', start, end));
    const isBelow = source[i + 1] === minus;
    const from = isBelow || source[i + 1] === 0x2b ? i + 2 : i + 1;
    const written = readShort(source, from, end);
    exponent += isBelow ? -written : written;
  }
  if (digits > exactDigitsMax || exponent > 22 || exponent < -22)
    return Number(source.toString('latin1', start, end));
  const scaled = exponent < 0 ? value / (powers[-exponent] as number) : value * (powers[exponent] as number);
  return isNegative ? -scaled : scaled;
}
