/** PostgreSQL's text form of arrays → JSON arrays, nested as they are. */

import type { ByteWriter } from '../../result/byte-writer.ts';
import { writeAscii, writeNull, writeString } from '../../result/json-encoder.ts';
import type { FieldEncoder } from '../../row-sink.ts';

const open = 0x7b;
const close = 0x7d;
const comma = 0x2c;
const quote = 0x22;
const backslash = 0x5c;
const equals = 0x3d;
const bounds = 0x5b;

/** `{1,NULL,{2}}`, perhaps with bounds before it as in `[0:1]={1,2}`. */
export function createArrayEncoder(element: FieldEncoder): FieldEncoder {
  return (out, source, start, end) => {
    let at = start;
    if (source[at] === bounds) at = source.indexOf(equals, at) + 1;
    else if (source[at] !== open) {
      // Vectors of the system's own tables call themselves arrays and are written without braces.
      writeString(out, source, start, end);
      return;
    }
    while (at < end) at = writeToken(out, source, { at, end, element });
  };
}

/** Writes what stands at `at` and returns where the next token starts. */
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
  if (byte === quote) return writeQuotedElement(out, source, { at: at + 1, element });
  let stop = at;
  while (stop < end && source[stop] !== comma && source[stop] !== close) stop++;
  if (source.toString('latin1', at, stop) === 'NULL') writeNull(out);
  else element(out, source, at, stop);
  return stop;
}

function writeQuotedElement(
  out: ByteWriter,
  source: Buffer,
  { at, element }: { at: number; element: FieldEncoder },
): number {
  let stop = at;
  let escaped = false;
  while (source[stop] !== quote) {
    if (source[stop] === backslash) {
      escaped = true;
      stop++;
    }
    stop++;
  }
  if (!escaped) element(out, source, at, stop);
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
