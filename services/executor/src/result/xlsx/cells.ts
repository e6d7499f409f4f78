/** How a value of each kind becomes a cell of a spreadsheet: byte by byte, without JavaScript values. */

import type { ColumnKind } from '../../ports/column-kind.ts';
import { types } from '../values/bson-reader.ts';
import { jsonEncoder } from '../values/json-values.ts';
import { plainEncoder } from '../values/plain-values.ts';
import {
  type ByteWriter,
  type FieldEncoder,
  type Numbers,
  writeAscii,
  writeRaw,
} from '../values/primitives.ts';
import { SerialTime } from './serial-time.ts';

/**
 * Writes a value that is not NULL, after the place of its cell, as in `<c r="A1"`. Writes nothing for an empty cell.
 * Returns false if a cell cannot hold it.
 */
export type CellWriter = (out: ByteWriter, source: Buffer, start: number, end: number) => boolean;

/** The cell formats: 1 is bold, for names; 2 a date; 3 a time to the second; 4 with milliseconds. */
export const styles = [
  '<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">',
  '<numFmts count="3"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>',
  '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/>',
  '<numFmt numFmtId="166" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss.000"/></numFmts>',
  '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>',
  '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>',
  '<fills count="2"><fill><patternFill patternType="none"/></fill>',
  '<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders>',
  '<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="5"><xf xfId="0"/>',
  '<xf xfId="0" fontId="1" applyFont="1"/><xf xfId="0" numFmtId="164" applyNumberFormat="1"/>',
  '<xf xfId="0" numFmtId="165" applyNumberFormat="1"/><xf xfId="0" numFmtId="166" applyNumberFormat="1"/>',
  '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
].join('');
const style = { date: 2, seconds: 3, milliseconds: 4 };

export function cellWriter(kind: ColumnKind, numbers: Numbers): CellWriter {
  const plain = plainEncoder(kind, numbers);
  switch (kind.is) {
    case 'boolean':
      return booleanCell(plain);
    case 'integer':
    case 'float':
    case 'decimal':
      return numberCell(jsonEncoder(kind, numbers), plain);
    case 'date':
    case 'timestamp':
      return timeCell(plain);
    case 'text':
      return writeTextCell;
    case 'bson':
      return bsonCell(plain, jsonEncoder(kind, numbers));
    default:
      return textCell(plain);
  }
}

const letterT = 0x74;
const quote = 0x22;
const valueTail = '</v></c>';

const booleanCell =
  (plain: FieldEncoder): CellWriter =>
  (out, source, start, end) => {
    const from = out.position;
    plain(out, source, start, end);
    const isTrue = out.buffer[from] === letterT;
    out.position = from;
    writeAscii(out, isTrue ? ' t="b"><v>1</v></c>' : ' t="b"><v>0</v></c>');
    return true;
  };

/** What is a string in JSON is a text, and so is what spreadsheets read as 0, or as no number. */
function numberCell(json: FieldEncoder, plain: FieldEncoder): CellWriter {
  const asText = textCell(plain);
  return (out, source, start, end) => {
    const from = out.position;
    writeAscii(out, '><v>');
    const digits = out.position;
    json(out, source, start, end);
    if (out.buffer[digits] === quote || isNoDouble(out.buffer, digits, out.position)) {
      out.position = from;
      return asText(out, source, start, end);
    }
    writeAscii(out, valueTail);
    return true;
  };
}

const smallest = 2.2250738585072014e-308;
const isE = (byte: number | undefined) => byte === 0x65 || byte === 0x45;

/** Such a number is written as `1e-308` or `1E+6144`, or with hundreds of digits. */
function isNoDouble(source: Buffer, start: number, end: number): boolean {
  if (end - start < 300 && !isE(source[end - 'e-308'.length]) && !isE(source[end - 'E+6144'.length]))
    return false;
  const text = source.toString('latin1', start, end);
  const value = Math.abs(Number(text));
  return value === Infinity || (value < smallest && /^[^e]*[1-9]/i.test(text));
}

/** What spreadsheets have no number for stays a text. */
function timeCell(plain: FieldEncoder): CellWriter {
  const time = new SerialTime();
  const asText = textCell(plain);
  return (out, source, start, end) => {
    const from = out.position;
    plain(out, source, start, end);
    if (out.position === from) return true;
    const hasNumber = time.read(out.buffer, from, out.position);
    out.position = from;
    if (!hasNumber) return asText(out, source, start, end);
    const format = !time.hasClock ? style.date : time.hasFraction ? style.milliseconds : style.seconds;
    writeAscii(out, timeHeads[format] as string);
    time.write(out);
    writeAscii(out, valueTail);
    return true;
  };
}

const timeHeads = Array.from({ length: 5 }, (_, format) => ` s="${format}"><v>`);

const bsonNumbers = new Set<number>([types.int32, types.int64, types.double, types.decimal]);

/** The type of a BSON element is its first byte. */
function bsonCell(plain: FieldEncoder, json: FieldEncoder): CellWriter {
  const [asBoolean, asNumber] = [booleanCell(plain), numberCell(json, plain)];
  const [asTime, asText] = [timeCell(plain), textCell(plain)];
  return (out, source, start, end) => {
    const type = source[start] as number;
    if (type === types.null || type === types.undefined) return true;
    if (type === types.boolean) return asBoolean(out, source, start, end);
    if (bsonNumbers.has(type)) return asNumber(out, source, start, end);
    if (type === types.date) return asTime(out, source, start, end);
    return asText(out, source, start, end);
  };
}

/** In UTF-16, as programs count. */
const charactersMax = 32_767;
const textHead = ' t="inlineStr"><is><t xml:space="preserve">';
const textTail = '</t></is></c>';

const fits = (source: Buffer, start: number, end: number): boolean =>
  end - start <= charactersMax || source.toString('utf8', start, end).length <= charactersMax;

/** Writes a text in UTF-8. */
export const writeTextCell: CellWriter = (out, source, start, end) => {
  if (!fits(source, start, end)) return false;
  writeAscii(out, textHead);
  writeXml(out, source, start, end);
  writeAscii(out, textTail);
  return true;
};

/** The writer of a cell with the text that `encode` writes. */
const textCell =
  (encode: FieldEncoder): CellWriter =>
  (out, source, start, end) => {
    writeAscii(out, textHead);
    const from = out.position;
    encode(out, source, start, end);
    if (!fits(out.buffer, from, out.position)) return false;
    if (!isPlain(out.buffer, from, out.position)) {
      const text = Buffer.from(out.buffer.subarray(from, out.position));
      out.position = from;
      writeXml(out, text, 0, text.length);
    }
    writeAscii(out, textTail);
    return true;
  };

const escapes: (string | undefined)[] = Array.from({ length: 0x80 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (byte < 0x20 && character !== '\t' && character !== '\n') return escapeOf(byte);
  return { '&': '&amp;', '<': '&lt;', '>': '&gt;' }[character];
});
const underscore = 0x5f;
const escaped = /^_x[0-9a-fA-F]{4}_/;
const escapeBytes = 7;
/** The first byte of U+FFFE and U+FFFF, which XML does not have, in UTF-8: EF BF BE and EF BF BF. */
const last = 0xef;

/** 1 for each byte that can begin what is escaped. */
const mayEscape = Uint8Array.from({ length: 256 }, (_, byte) =>
  escapes[byte] !== undefined || byte === underscore || byte === last ? 1 : 0,
);

/** ST_Xstring, ECMA-376 part 1, 22.9.2.19: a character that XML cannot hold, and an underscore that would begin one. */
function escapeOf(unit: number): string {
  return `_x${unit.toString(16).toUpperCase().padStart(4, '0')}_`;
}

/** True if no byte begins an escape. */
function isPlain(source: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (mayEscape[source[at] as number] === 1) return false;
  return true;
}

function writeXml(out: ByteWriter, source: Buffer, start: number, end: number): void {
  let plain = start;
  for (let at = start; at < end; at++) {
    const byte = source[at] as number;
    if (mayEscape[byte] === 0) continue;
    let written: string | undefined;
    let length = 1;
    if (byte < 0x80 && byte !== underscore) written = escapes[byte];
    else if (byte === underscore) {
      if (escaped.test(source.toString('latin1', at, Math.min(at + escapeBytes, end))))
        written = escapeOf(underscore);
    } else if (byte === last && source[at + 1] === 0xbf && (source[at + 2] as number) >= 0xbe) {
      written = escapeOf(source[at + 2] === 0xbe ? 0xfffe : 0xffff);
      length = 3;
    }
    if (written === undefined) continue;
    writeRaw(out, source, plain, at);
    writeAscii(out, written);
    plain = at + length;
    at = plain - 1;
  }
  writeRaw(out, source, plain, end);
}
