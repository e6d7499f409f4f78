/** How a value of each kind becomes a cell of a spreadsheet. */

import { midnightOf } from '@datahub/statement/timestamps';
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

interface Field {
  source: Buffer;
  start: number;
  end: number;
}

/** Writes a value that is not NULL; `cell` is the beginning of its element. False if a cell cannot hold it. */
export type CellWriter = (out: ByteWriter, cell: string, field: Field) => boolean;

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

/** Returns the text of a value, which `scratch` holds until the next one is read. */
type ReadText = (field: Field) => Field;

const reading =
  (scratch: ByteWriter, encode: FieldEncoder): ReadText =>
  ({ source, start, end }) => {
    scratch.position = 0;
    scratch.elements = 0;
    encode(scratch, source, start, end);
    return { source: scratch.buffer, start: 0, end: scratch.position };
  };

/** Writers can share `scratch`. */
export function cellWriter(kind: ColumnKind, numbers: Numbers, scratch: ByteWriter): CellWriter {
  const plain = reading(scratch, plainEncoder(kind, numbers));
  const json = () => reading(scratch, jsonEncoder(kind, numbers));
  switch (kind.is) {
    case 'boolean':
      return booleanCell(plain);
    case 'integer':
    case 'float':
    case 'decimal':
      return numberCell(json());
    case 'date':
    case 'timestamp':
      return timeCell(plain);
    case 'text':
      return writeTextCell;
    case 'bson':
      return bsonCell(plain, json());
    default:
      return (out, cell, field) => writeTextCell(out, cell, plain(field));
  }
}

const letterT = 0x74;
const quote = 0x22;

const booleanCell =
  (plain: ReadText): CellWriter =>
  (out, cell, field) => {
    const { source } = plain(field);
    writeAscii(out, `${cell} t="b"><v>${source[0] === letterT ? 1 : 0}</v></c>`);
    return true;
  };

/** What is a string in JSON is a text, and so is what spreadsheets read as 0. */
const numberCell =
  (json: ReadText): CellWriter =>
  (out, cell, field) => {
    const { source, start, end } = json(field);
    if (isTooSmall(source, start, end)) return writeTextCell(out, cell, { source, start, end });
    if (source[start] === quote) return writeTextCell(out, cell, { source, start: start + 1, end: end - 1 });
    writeAscii(out, `${cell}><v>`);
    writeRaw(out, source, start, end);
    writeAscii(out, '</v></c>');
    return true;
  };

const smallest = 2.2250738585072014e-308;
const letterE = 0x65;

/** Such a number is written as `1e-308`, or with hundreds of zeros. */
function isTooSmall(source: Buffer, start: number, end: number): boolean {
  if (end - start < 300 && source[end - 'e-308'.length] !== letterE) return false;
  const text = source.toString('latin1', start, end);
  return Math.abs(Number(text)) < smallest && /^[^e]*[1-9]/.test(text);
}

/**
 * A date is the number of days since 1899-12-30, and a time their fraction: ECMA-376 part 1, 18.17.4.1. What spreadsheets
 * have no number for stays a text: dates before 1900-03-01, because they take 1900 for a leap year, dates after 9999, and
 * those of MySQL that do not exist. So do microseconds that a double would change: from 2079 on some, later all.
 */
const timeCell =
  (plain: ReadText): CellWriter =>
  (out, cell, field) => {
    const text = plain(field);
    if (text.start === text.end) return true;
    const found = isoTime.exec(text.source.toString('latin1', text.start, text.end));
    const days = found === null ? undefined : daysOf(found);
    if (found === null || days === undefined || days < firstDay) return writeTextCell(out, cell, text);
    const [, , , , hour, minute, second, fraction = ''] = found;
    if (hour === undefined) {
      writeAscii(out, `${cell} s="${style.date}"><v>${days}</v></c>`);
      return true;
    }
    const micros = Number(fraction.padEnd(6, '0'));
    const seconds = (Number(hour) * 60 + Number(minute)) * 60 + Number(second);
    const serial = days + (seconds + micros / 1e6) / 86_400;
    const unit = micros % 1_000 === 0 ? 1_000 : 1;
    const read = Math.round(((serial - days) * 86_400e6) / unit) * unit;
    if (read !== seconds * 1e6 + micros) return writeTextCell(out, cell, text);
    writeAscii(out, `${cell} s="${micros === 0 ? style.seconds : style.milliseconds}"><v>${serial}</v></c>`);
    return true;
  };

const isoTime = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?Z?)?$/;
/** The number of 1970-01-01, and of 1900-03-01. */
const epochDay = 25_569;
const firstDay = 61;

/** Undefined if there is no such day. */
function daysOf([, year, month, day]: RegExpExecArray): number | undefined {
  const midnight = midnightOf({ year: Number(year), month: Number(month), day: Number(day) });
  return midnight === undefined ? undefined : midnight / 86_400_000 + epochDay;
}

const bsonNumbers = new Set<number>([types.int32, types.int64, types.double, types.decimal]);

/** The type of a BSON element is its first byte. */
function bsonCell(plain: ReadText, json: ReadText): CellWriter {
  const [asBoolean, asNumber, asTime] = [booleanCell(plain), numberCell(json), timeCell(plain)];
  return (out, cell, field) => {
    const type = field.source[field.start] as number;
    if (type === types.null || type === types.undefined) return true;
    if (type === types.boolean) return asBoolean(out, cell, field);
    if (bsonNumbers.has(type)) return asNumber(out, cell, field);
    if (type === types.date) return asTime(out, cell, field);
    return writeTextCell(out, cell, plain(field));
  };
}

/** In UTF-16, as programs count. */
const charactersMax = 32_767;

/** Writes a text in UTF-8. */
export function writeTextCell(out: ByteWriter, cell: string, { source, start, end }: Field): boolean {
  if (end - start > charactersMax && source.toString('utf8', start, end).length > charactersMax) return false;
  writeAscii(out, `${cell} t="inlineStr"><is><t xml:space="preserve">`);
  writeXml(out, source, start, end);
  writeAscii(out, '</t></is></c>');
  return true;
}

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

/** ST_Xstring, ECMA-376 part 1, 22.9.2.19: a character that XML cannot hold, and an underscore that would begin one. */
function escapeOf(unit: number): string {
  return `_x${unit.toString(16).toUpperCase().padStart(4, '0')}_`;
}

function writeXml(out: ByteWriter, source: Buffer, start: number, end: number): void {
  let plain = start;
  for (let at = start; at < end; at++) {
    const byte = source[at] as number;
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
