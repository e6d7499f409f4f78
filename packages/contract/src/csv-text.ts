/** Where records of CSV (RFC 4180) end, in bytes or in characters. */

/** What the last character of a record belongs to. */
export type CsvPlace = 'field start' | 'unquoted' | 'quoted' | 'after a quote';

const [quote, comma, lineFeed] = [0x22, 0x2c, 0x0a];

/** A line break within quotes ends no record. */
export const endsRecord = (place: CsvPlace, code: number): boolean => code === lineFeed && place !== 'quoted';

/** A quote within a field without quotes is a character of it. */
export function placeAfter(place: CsvPlace, code: number): CsvPlace {
  if (place === 'quoted') return code === quote ? 'after a quote' : 'quoted';
  if (code === quote && place !== 'unquoted') return 'quoted';
  return code === comma || code === lineFeed ? 'field start' : 'unquoted';
}
