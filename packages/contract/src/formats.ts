/**
 * The formats of rows. Every other list of formats is derived from this one: a table that is keyed by format is a
 * `Record<FormatName, …>`, so the compiler names the tables that miss a new format.
 */
export interface FormatFacts {
  mediaType: string;
  /** The parameters of `Content-Type`; empty for none. */
  parameters: string;
  /** The ending of a file's name. */
  extension: string;
  /** The name for people. */
  label: string;
  /**
   * `documents`: each row has members of its own. `columns`: all rows have the same columns. `typed columns`: each column
   * has one type, too, so the format has no rows of MongoDB.
   */
  rows: 'documents' | 'columns' | 'typed columns';
  /** False for bytes that are not UTF-8. */
  isText: boolean;
  /** True if the rows cannot say that a limit cut them, so an HTTP trailer does. */
  hasTruncatedTrailer: boolean;
  /** The end of a row. The members that annotations add are inserted before it. */
  rowEnd: string;
  /** True if the gateway can add the labels of annotations. */
  takesLabels: boolean;
}

/** The last line of NDJSON whose rows a limit cut. No row has these bytes, but one can have the same value. */
export const cutLine = '{"truncated":true}';

/**
 * With the option `ending`, the answer ends with this character and one line of JSON, which says how the rows ended:
 * `{}`, `{"truncated":true,"rows":5,"limit":"key"}` or `{"problem":{…}}`. JSON never contains it, so its last occurrence is the mark in
 * each format.
 */
export const endingMark = '\x1e';

/** What separates the fields of CSV; the first one is the default. Spreadsheets of many languages expect a semicolon. */
export const csvDelimiters = [',', ';', '\t'] as const;
export type CsvDelimiter = (typeof csvDelimiters)[number];

/** What stands before the decimals of numbers in CSV; the first one is the default. */
export const csvDecimals = ['.', ','] as const;

export interface CsvOptions {
  /** True to begin with a byte order mark, without which Excel does not read UTF-8. */
  bom?: boolean | undefined;
  delimiter?: CsvDelimiter | undefined;
  decimal?: (typeof csvDecimals)[number] | undefined;
}

/** The first format is the default. */
export const formats = {
  json: {
    mediaType: 'application/json',
    parameters: 'charset=utf-8',
    extension: 'json',
    label: 'JSON',
    rows: 'documents',
    isText: true,
    hasTruncatedTrailer: false,
    rowEnd: '}',
    takesLabels: true,
  },
  ndjson: {
    mediaType: 'application/x-ndjson',
    parameters: 'charset=utf-8',
    extension: 'ndjson',
    label: 'NDJSON',
    rows: 'documents',
    isText: true,
    hasTruncatedTrailer: false,
    rowEnd: '}\n',
    takesLabels: true,
  },
  csv: {
    mediaType: 'text/csv',
    parameters: 'charset=utf-8; header=present',
    extension: 'csv',
    label: 'CSV',
    rows: 'columns',
    isText: true,
    hasTruncatedTrailer: true,
    rowEnd: '\r\n',
    takesLabels: true,
  },
  arrow: {
    mediaType: 'application/vnd.apache.arrow.stream',
    parameters: '',
    extension: 'arrows',
    label: 'Arrow',
    rows: 'typed columns',
    isText: false,
    hasTruncatedTrailer: true,
    rowEnd: '',
    takesLabels: true,
  },
  xlsx: {
    mediaType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    parameters: '',
    extension: 'xlsx',
    label: 'XLSX',
    rows: 'columns',
    isText: false,
    hasTruncatedTrailer: true,
    rowEnd: '',
    takesLabels: false,
  },
} as const satisfies Record<string, FormatFacts>;

export type FormatName = keyof typeof formats;

export const formatNames = Object.keys(formats) as FormatName[];

/** The value of `Content-Type`. */
export const contentTypeOf = (name: FormatName): string => {
  const { mediaType, parameters }: FormatFacts = formats[name];
  return parameters === '' ? mediaType : `${mediaType}; ${parameters}`;
};

/** What the last byte or character of a record of CSV (RFC 4180) belongs to. */
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
