/**
 * What the values of a column are, and how their bytes in the database's protocol read. Engines state the kind of each
 * column and hand over the bytes unchanged; a format decides what becomes of them. Each format has an encoder for each
 * kind, so the compiler names the formats that miss a new one.
 */
export type ColumnKind =
  /** `letter`: `t` or `f`. `bit`: the lowest bit of the last byte, so that the digits `0` and `1` fit, too. */
  | { is: 'boolean'; bytes: 'letter' | 'bit' }
  /** `little-endian` has four bytes for 32 bits, eight for 64. */
  | { is: 'integer'; bits: 8 | 16 | 32 | 64; isUnsigned: boolean; bytes: 'digits' | 'little-endian' }
  /** `digits` can also be `NaN`, `Infinity` or `-Infinity`; `little-endian` is IEEE 754 and always finite. */
  | { is: 'float'; bits: 32 | 64; bytes: 'digits' | 'little-endian' }
  /**
   * Digits, perhaps with a sign and a point, or `NaN`, `Infinity` or `-Infinity`. Precision and scale are undefined if
   * the column does not limit them. If `isLoose`, zeros can precede the digits, and other bytes stand for a value of BIT.
   */
  | { is: 'decimal'; precision?: number; scale?: number; isLoose?: true }
  /** `iso`: PostgreSQL's ISO style, which has values such as `infinity` and `0044-03-15 BC`. */
  | { is: 'date' | 'time'; bytes: 'iso' | 'packed' }
  /** With `hasZone` it is an instant in UTC. `packed`: MySQL's binary protocol, in which a date can be all zeros. */
  | { is: 'timestamp'; hasZone: boolean; bytes: 'iso' | 'packed' }
  /**
   * Big-endian bytes that hold a number of bits; with `mayBeDigits`, each value can also be the number in digits; with
   * `mayBeNarrower`, it can have fewer bytes. With `areDigits`, each value is the number in digits.
   */
  | { is: 'bits'; width: number; mayBeDigits?: boolean; mayBeNarrower?: boolean; areDigits?: true }
  /** `hex`: `\x` and two digits for each byte. */
  | { is: 'binary'; bytes: 'raw' | 'hex' }
  /** UTF-8. */
  | { is: 'text' }
  /** ASCII that is never empty and needs no escapes in JSON and no quotes in CSV, such as a UUID or an interval. */
  | { is: 'ascii' }
  /** JSON in UTF-8. With `mayBeInvalid`, the database does not check it. */
  | { is: 'json'; mayBeInvalid: boolean }
  /** PostgreSQL's text format of arrays, as in `{1,NULL,{2}}`. */
  | { is: 'array'; element: ColumnKind }
  /** A BSON element with type and name, so values in one column can have different types. */
  | { is: 'bson' };

/**
 * The kinds of values in PostgreSQL's binary format, all big-endian. Only a sink with `takesBinary` gets them, so formats
 * of text need no encoder for them.
 */
export type BinaryKind =
  | { is: 'integer'; bits: 16 | 32 | 64; isUnsigned: boolean; bytes: 'big-endian' }
  | { is: 'float'; bits: 32 | 64; bytes: 'big-endian' }
  /** Days from 2000-01-01; the lowest and the highest number are the infinities. */
  | { is: 'date'; bytes: 'days' }
  /** Microseconds from midnight, or from 2000-01-01 with infinities as for dates. */
  | { is: 'time'; bytes: 'micros' }
  | { is: 'timestamp'; hasZone: boolean; bytes: 'micros' }
  /** 16 bytes. */
  | { is: 'uuid' };
