/** The value of a number's text, digit by digit. */

/** `digits` × 10^`exponent`, below zero if `sign` is a minus. The digits have no zero at either end; zero has none. */
export interface Scaled {
  sign: '' | '-';
  digits: string;
  exponent: number;
}

const numberText = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,15}))?$/;
const zero = 0x30;

/** Undefined if the text is no number of JSON, nor one such as `.5` or `5.`, and for exponents above 15 digits. */
export function scaledOf(text: string): Scaled | undefined {
  const [, sign, whole = '', part = '', power = '0'] = numberText.exec(text) ?? [];
  const written = whole + part;
  if (sign === undefined || written === '') return undefined;
  let start = 0;
  let end = written.length;
  while (start < end && written.charCodeAt(start) === zero) start++;
  while (end > start && written.charCodeAt(end - 1) === zero) end--;
  if (start === end) return { sign: '', digits: '', exponent: 0 };
  const exponent = Number(power) - part.length + (written.length - end);
  return { sign: sign as Scaled['sign'], digits: written.slice(start, end), exponent };
}

/** The same text for the same value, such as `11e-1` for 1.1 and 1.10. Undefined if the text is no number. */
export function canonicalNumber(text: string): string | undefined {
  const scaled = scaledOf(text);
  return scaled && `${scaled.sign}${scaled.digits || '0'}e${scaled.exponent}`;
}

/** The most digits of a 64-bit integer. */
const wholeDigitsMax = 19;

/** The value as a 64-bit integer, if it is one. */
export function toInt64({ sign, digits, exponent }: Scaled): number | bigint | undefined {
  if (exponent < 0 || digits.length + exponent > wholeDigitsMax) return undefined;
  const integer = BigInt(`${sign}${digits || '0'}${'0'.repeat(exponent)}`);
  if (integer !== BigInt.asIntN(64, integer)) return undefined;
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : integer;
}

/** The same for the text of a number. */
export function int64Of(text: string): number | bigint | undefined {
  const scaled = scaledOf(text);
  return scaled && toInt64(scaled);
}

/** The digits of a whole number such as 1.0 or 1e3, or the text if it is none of 64 bits. */
export const wholeDigits = (text: string): string => String(int64Of(text) ?? text);

/** The digits without an exponent, if there are at most `digitsMax`, and at most `scaleMax` of them after the point. */
export function toPlainDigits(
  { sign, digits, exponent }: Scaled,
  { digitsMax, scaleMax }: { digitsMax: number; scaleMax: number },
): string | undefined {
  const scale = Math.max(0, -exponent);
  const length = Math.max(digits.length + Math.max(0, exponent), scale);
  if (length > digitsMax || scale > scaleMax) return undefined;
  if (scale === 0) return `${sign}${digits || '0'}${'0'.repeat(exponent)}`;
  const padded = digits.padStart(scale + 1, '0');
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
}

/** True if the double nearest to the number is written with the same digits, as JavaScript writes doubles. */
export function isDouble(text: string): boolean {
  const double = Number(text);
  return Number.isFinite(double) && canonicalNumber(String(double)) === canonicalNumber(text);
}
