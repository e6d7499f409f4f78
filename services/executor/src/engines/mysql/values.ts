/** The kinds of MySQL's and MariaDB's types. Values come in the binary protocol, except where a comment names the other. */

import type { ColumnKind } from '../../ports/column-kind.ts';
import type { DescribedColumn } from '../../ports/engine.ts';
import type { ColumnDefinition, Format } from './protocol.ts';

/** Returns the size in bytes; -1 if a length-encoded integer precedes the value, -2 if a length byte does. */
export function sizeOf(type: number): number {
  switch (type) {
    case 0x01:
      return 1;
    case 0x02:
    case 0x0d:
      return 2;
    case 0x03:
    case 0x04:
    case 0x09:
      return 4;
    case 0x05:
    case 0x08:
      return 8;
    case 0x07:
    case 0x0a:
    case 0x0b:
    case 0x0c:
      return -2;
    case 0x06:
      return 0;
    default:
      return -1;
  }
}

const unsignedFlag = 0x20;
const zerofillFlag = 0x40;
const binaryFlag = 0x80;
const binaryCharset = 63;

export function kindOf(column: ColumnDefinition): ColumnKind {
  const isUnsigned = (column.flags & unsignedFlag) !== 0;
  switch (column.type) {
    case 0x01:
      return integer(8, isUnsigned);
    case 0x02:
      return integer(16, isUnsigned);
    case 0x0d:
      return integer(16, true);
    case 0x03:
    case 0x09:
      return integer(32, isUnsigned);
    case 0x08:
      return integer(64, isUnsigned);
    case 0x04:
      return { is: 'float', bits: 32, bytes: 'little-endian' };
    case 0x05:
      return { is: 'float', bits: 64, bytes: 'little-endian' };
    case 0x00:
    case 0xf6:
      return toDecimal(column, isUnsigned);
    case 0x0a:
      return { is: 'date', bytes: 'packed' };
    case 0x0b:
      return { is: 'time', bytes: 'packed' };
    case 0x0c:
      return { is: 'timestamp', hasZone: false, bytes: 'packed' };
    case 0x07:
      return { is: 'timestamp', hasZone: true, bytes: 'packed' };
    case 0x10:
      return toBits(column);
    case 0xf5:
      return { is: 'json', mayBeInvalid: false };
    default:
      return toText(column);
  }
}

const timestamp = 0x07;

export function formatOf(column: ColumnDefinition): Format | undefined {
  if (column.type === timestamp) return 'time_zone';
  const { is } = kindOf(column);
  return is === 'text' || is === 'json' ? 'character_set_results' : undefined;
}

/** The numbers of utf8mb4 at both servers, below those that only one of them has. */
const isUtf8mb4 = (charset: number) => charset === 45 || charset === 46 || (charset >= 224 && charset <= 247);

/** A definition says in which character set the server writes texts, whatever a procedure sets behind the result. */
export const isForeign = (column: ColumnDefinition): boolean =>
  column.charset < 255 &&
  column.charset !== binaryCharset &&
  !isUtf8mb4(column.charset) &&
  formatOf(column) === 'character_set_results';

/** The kind of a column whose values come in the text protocol. */
export function textKindOf(column: ColumnDefinition): ColumnKind {
  const kind = kindOf(column);
  switch (kind.is) {
    case 'integer':
    case 'float':
      return { ...kind, bytes: 'digits' };
    // The zero dates of the servers are no dates in the other format.
    case 'date':
    case 'time':
    case 'timestamp':
      return { is: 'text' };
    default:
      return kind;
  }
}

/**
 * Some expressions, such as COALESCE and on MariaDB also MAX, have digits as their values: those of the number. Of a CASE
 * on MySQL, a value has as many bytes as the BIT that it comes from.
 */
function toBits({ length: width, schema, isOfMariadb }: ColumnDefinition): ColumnKind {
  if (width === 1) return { is: 'boolean', bytes: 'bit' };
  if (schema !== '') return { is: 'bits', width };
  return { is: 'bits', width, mayBeDigits: true, mayBeNarrower: !isOfMariadb };
}

const integer = (bits: 8 | 16 | 32 | 64, isUnsigned: boolean): ColumnKind => ({
  is: 'integer',
  bits,
  isUnsigned,
  bytes: 'little-endian',
});

/** Of the columns that are expressions. Others with this flag are read more carefully than they need. */
const looseFlags = zerofillFlag | binaryFlag;

/**
 * The length counts the sign and the point, too. ZEROFILL pads the digits with zeros. Of an IF, a CASE or a NULLIF, MySQL
 * sends what its operand is as a text: padded digits, or the bits of a BIT.
 */
function toDecimal({ flags, length, decimals: scale }: ColumnDefinition, isUnsigned: boolean): ColumnKind {
  const precision = length - (isUnsigned ? 0 : 1) - (scale > 0 ? 1 : 0);
  return { is: 'decimal', precision, scale, ...((flags & looseFlags) !== 0 && { isLoose: true }) };
}

function toText({ type, charset, extended }: ColumnDefinition): ColumnKind {
  // MariaDB does not check the JSON that it returns.
  if (extended === 'json') return { is: 'json', mayBeInvalid: true };
  if (extended !== '' && type !== 0xff) return { is: 'text' };
  // Geometry has the storage format: four bytes of SRID, then WKB.
  return charset === binaryCharset ? { is: 'binary', bytes: 'raw' } : { is: 'text' };
}

const textCharset = 255;

/** MySQL reports the charset of bytes for texts, too. They differ in a flag. */
export const toOutParameter = (column: ColumnDefinition): ColumnDefinition =>
  (column.flags & binaryFlag) === 0 ? { ...column, charset: textCharset } : column;

/** The kind of a column with the value of an OUT parameter. A BIT is sent as the number in digits. */
export function outKindOf(column: ColumnDefinition): ColumnKind {
  const kind = kindOf(column);
  return kind.is === 'bits' ? { is: 'bits', width: kind.width, areDigits: true } : kind;
}

const names: Record<number, string> = {
  0: 'decimal',
  1: 'tinyint',
  2: 'smallint',
  3: 'int',
  4: 'float',
  5: 'double',
  6: 'null',
  7: 'timestamp',
  8: 'bigint',
  9: 'mediumint',
  10: 'date',
  11: 'time',
  12: 'datetime',
  13: 'year',
  16: 'bit',
  245: 'json',
  246: 'decimal',
  255: 'geometry',
};

const notNullFlag = 0x01;
/** The scale of a text that a function makes, at MariaDB. */
const scaleOfText = 39;
/** Of the longest VARCHAR in utf8mb4, and in bytes beside a NULL; then of such a column of a derived table. */
const longestVarchars = new Set([65_532, 65_535, 262_128, 1_048_560]);

const numbers = new Set<ColumnKind['is']>(['integer', 'decimal', 'float']);

/**
 * Whether a column that is described can have the type of a parameter, which it gets from its value: MySQL describes it
 * as the longest VARCHAR, MariaDB as NULL or an empty binary. Some functions of texts are described in this way, too.
 * MariaDB takes what is computed with parameters for a number, and MySQL takes what is computed with nothing else for a
 * double.
 */
export function typeOfParameter(
  column: ColumnDefinition,
  { is }: ColumnKind,
): NonNullable<DescribedColumn['isUntyped']> {
  const { type, charset, length, flags, decimals, schema, isOfMariadb } = column;
  if (schema !== '') return false;
  if (isOfMariadb && numbers.has(is)) return 'computed';
  if (!isOfMariadb && is === 'float') return 'alone';
  if ((flags & notNullFlag) !== 0) return false;
  if (!isOfMariadb) return type >= 0xf9 && type <= 0xfd && longestVarchars.has(length);
  if (length !== 0 || charset !== binaryCharset) return false;
  return type === 0x06 || type === 0xfe || (type === 0xfd && decimals !== scaleOfText);
}

const enumFlag = 0x100;
const setFlag = 0x800;

/** Types that have no sign, although their columns have the unsigned flag: TIMESTAMP, YEAR, BIT. */
const signless = new Set([7, 13, 16]);

export function typeName({ type, flags, charset, extended }: ColumnDefinition): string {
  const known = names[type];
  if (known !== undefined) {
    return (flags & unsignedFlag) !== 0 && !signless.has(type) ? `${known} unsigned` : known;
  }
  if (extended !== '') return extended;
  if ((flags & enumFlag) !== 0) return 'enum';
  if ((flags & setFlag) !== 0) return 'set';
  const binary = charset === binaryCharset;
  if (type >= 0xf9 && type <= 0xfc) return binary ? 'blob' : 'text';
  if (type === 0xfe) return binary ? 'binary' : 'char';
  return binary ? 'varbinary' : 'varchar';
}
