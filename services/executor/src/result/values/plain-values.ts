/** How a value of each kind is written as plain text. */

import type { ColumnKind } from '../../ports/column-kind.ts';
import { BsonWriter } from './bson.ts';
import { isoTimestampEncoder } from './iso-times.ts';
import { jsonEncoder } from './json-values.ts';
import { bigintEncoder, integerEncoder, writeDouble, writeFloat } from './little-endian.ts';
import { bitsEncoder, looseDigits, writeHexAsBase64 } from './other-bytes.ts';
import { packedDateEncoder, packedTimeEncoder } from './packed-times.ts';
import {
  type FieldEncoder,
  type Numbers,
  writeBase64,
  writeBit,
  writeLetter,
  writeRaw,
} from './primitives.ts';

/** The encoder of a kind's values as plain text. A kind that is missing does not compile. */
export function plainEncoder(kind: ColumnKind, numbers: Numbers): FieldEncoder {
  switch (kind.is) {
    case 'boolean':
      return kind.bytes === 'letter' ? writeLetter : writeBit;
    case 'integer':
      if (kind.bytes === 'digits') return writeRaw;
      if (kind.bits === 64) return bigintEncoder(kind.isUnsigned, 'none');
      return integerEncoder(kind.bits, kind.isUnsigned);
    case 'float':
      if (kind.bytes === 'digits') return writeRaw;
      return kind.bits === 32 ? writeFloat : writeDouble;
    case 'decimal':
      return kind.isLoose ? looseDigits(writeRaw) : writeRaw;
    case 'date':
      return kind.bytes === 'iso' ? writeRaw : packedDateEncoder(undefined, 'plain');
    case 'time':
      return kind.bytes === 'iso' ? writeRaw : packedTimeEncoder('plain');
    case 'timestamp':
      if (kind.bytes === 'iso') return isoTimestampEncoder(kind.hasZone, 'plain');
      return packedDateEncoder(kind.hasZone ? 'Z' : '', 'plain');
    case 'bits':
      return bitsEncoder(kind);
    case 'binary':
      return kind.bytes === 'raw' ? writeBase64 : writeHexAsBase64;
    case 'text':
    case 'ascii':
      return writeRaw;
    case 'json':
    case 'array':
      return jsonEncoder(kind, numbers);
    case 'bson':
      return new BsonWriter(numbers, 'plain').element;
  }
}
