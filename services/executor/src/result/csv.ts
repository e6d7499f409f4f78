/** Converts encoded JSON values to CSV fields (RFC 4180). NULL is an empty field, and the empty string is `""`. */

import type { ByteWriter } from './byte-writer.ts';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const letterN = 0x6e;

/** Converts the bytes from `from` to the end into a CSV field, in place. */
export function toCsvField(out: ByteWriter, from: number, isJson: boolean): void {
  const written = out.buffer.subarray(from, out.position);
  if (isJson) {
    writeField(out, from, written.toString());
    return;
  }
  if (written[0] !== quote) {
    // A JSON null, such as that of a zero date, is an empty field like NULL.
    if (written[0] === letterN) out.position = from;
    // JSON objects and arrays contain quotes and commas. Numbers and booleans stay as they are.
    if (written[0] === 0x7b || written[0] === 0x5b) writeField(out, from, written.toString());
    return;
  }
  if (isPlain(written)) {
    written.copyWithin(0, 1, written.length - 1);
    out.position -= 2;
    return;
  }
  writeField(out, from, JSON.parse(written.toString()) as string);
}

/** True for a JSON string that is a valid CSV field once its quotes are removed. */
function isPlain(json: Buffer): boolean {
  if (json.length === 2) return false;
  for (let i = 1; i < json.length - 1; i++) if (json[i] === backslash || json[i] === comma) return false;
  return true;
}

export function writeField(out: ByteWriter, from: number, text: string): void {
  const field = text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const bytes = Buffer.from(field);
  out.position = from;
  out.reserve(bytes.length);
  bytes.copy(out.buffer, from);
  out.position = from + bytes.length;
}
