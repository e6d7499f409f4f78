/** Writes PostgreSQL's text format of arrays as JSON. */

import { malformedError } from './malformed.ts';
import { type ByteWriter, type FieldEncoder, writeAscii, writeNull } from './primitives.ts';

const quote = 0x22;
const open = 0x7b;
const close = 0x7d;
const comma = 0x2c;
const backslash = 0x5c;
const equals = 0x3d;
const bounds = 0x5b;

/**
 * Parses `{1,NULL,{2}}`, optionally with bounds in front, as in `[0:1]={1,2}`. Throws for a text that ends too early: the
 * bytes after it belong to other values.
 */
export function arrayEncoder(element: FieldEncoder): FieldEncoder {
  return (out, source, start, end) => {
    let at = source[start] === bounds ? find(equals, source, start, end) + 1 : start;
    while (at < end) at = writeToken(out, source, { at, end, element });
  };
}

function find(wanted: number, source: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && source[at] !== wanted) at += source[at] === backslash ? 2 : 1;
  if (at < end) return at;
  throw malformedError('an array that has no end');
}

/** Writes the element at `at` and returns the position of the next token. */
function writeToken(
  out: ByteWriter,
  source: Buffer,
  { at, end, element }: { at: number; end: number; element: FieldEncoder },
): number {
  const byte = source[at];
  if (byte === open || byte === close || byte === comma) {
    writeAscii(out, byte === open ? '[' : byte === close ? ']' : ',');
    return at + 1;
  }
  if (byte === quote) return writeQuotedElement(out, source, { at: at + 1, end, element });
  let stop = at;
  while (stop < end && source[stop] !== comma && source[stop] !== close) stop++;
  if (source.toString('latin1', at, stop) === 'NULL') writeNull(out);
  else element(out, source, at, stop);
  return stop;
}

function writeQuotedElement(
  out: ByteWriter,
  source: Buffer,
  { at, end, element }: { at: number; end: number; element: FieldEncoder },
): number {
  const stop = find(quote, source, at, end);
  let plain = at;
  while (plain < stop && source[plain] !== backslash) plain++;
  if (plain === stop) element(out, source, at, stop);
  else {
    const bytes = removeEscapes(source, at, stop);
    element(out, bytes, 0, bytes.length);
  }
  return stop + 1;
}

function removeEscapes(source: Buffer, start: number, end: number): Buffer {
  const bytes = Buffer.allocUnsafe(end - start);
  let length = 0;
  for (let i = start; i < end; i++) {
    if (source[i] === backslash) i++;
    bytes[length++] = source[i] as number;
  }
  return bytes.subarray(0, length);
}
