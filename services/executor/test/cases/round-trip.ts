/** Kinds of values that are bound, selected and compared: how they are made, asked for, and held against each other. */

import { ExactNumber, parseValue, toJsonText, type Value } from '@datahub/statement/values';
import fc from 'fast-check';

export interface Kind {
  name: string;
  /** As a variable is declared. */
  type?: string;
  /** The value as JSON, as a caller sends it. */
  sent: fc.Arbitrary<string>;
  /** The expression that gives the value back. */
  postgres: string;
  mysql: string;
  /** Equal for equal values. */
  canonical: (json: string) => string;
}

const wild = fc
  .string({
    unit: fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      fc.constantFrom(...`'"\\\`\n%_:{}$?/*-#;`),
    ),
    maxLength: 40,
  })
  .map((text) => text.replaceAll('\0', '\u0001'));

const digits = (max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: max });
const sign = fc.constantFrom('', '-');
const twoDigits = (min: number, max: number) =>
  fc.integer({ min, max }).map((n) => String(n).padStart(2, '0'));
const date = fc
  .tuple(fc.integer({ min: 1, max: 9999 }), twoDigits(1, 12), twoDigits(1, 28))
  .map(([year, month, day]) => `${String(year).padStart(4, '0')}-${month}-${day}`);
const instant = fc
  .tuple(date, twoDigits(0, 23), twoDigits(0, 59), twoDigits(0, 59), digits(6))
  .map(([day, hour, minute, second, part]) => `${day}T${hour}:${minute}:${second}.${part}Z`);

const quote = (text: string) => JSON.stringify(text);
const plain = (json: string) => JSON.stringify(JSON.parse(json));
const unquoted = (json: string) => (json.startsWith('"') ? (JSON.parse(json) as string) : json);

/** Digits without what does not change the value: leading zeros, zeros after the point, a negative zero. */
function decimal(json: string): string {
  const [, minus = '', whole = '', part = ''] = /^(-?)0*(\d*)(?:\.(\d*?)0*)?$/.exec(unquoted(json)) ?? [
    '',
    '',
    json,
  ];
  const text = part === '' ? whole || '0' : `${whole || '0'}.${part}`;
  return text === '0' ? text : minus + text;
}

const double = (json: string) => {
  const value = JSON.parse(json) as number;
  return Object.is(value, -0) ? '-0' : String(value);
};

const moment = (json: string) => {
  const [, seconds = '', part = ''] = /^"(.{19})\.?(\d*)Z?"$/.exec(json) ?? ['', json];
  return `${seconds}.${part.padEnd(6, '0')}`;
};

/** Members sorted, every number digit by digit. */
function document(json: string): string {
  const sort = (value: Value): string => {
    if (value instanceof ExactNumber || typeof value === 'number') return decimal(toJsonText(value));
    if (Array.isArray(value)) return `[${value.map(sort).join(',')}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${sort(member)}`).join(',')}}`;
  };
  return sort(parseValue(json));
}

const leaf = fc.oneof(
  wild.map(quote),
  fc.tuple(sign, digits(25), digits(9)).map(([minus, whole, part]) => `${minus}${BigInt(whole)}.${part}`),
  fc.bigInt().map(String),
  fc.constantFrom('null', 'true', 'false'),
);
const { tree } = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie('tree'), { maxLength: 4 }).map((list) => `[${list.join(',')}]`),
    fc
      .uniqueArray(fc.tuple(wild, tie('tree')), { maxLength: 4, selector: ([key]) => key })
      .map((members) => `{${members.map(([key, member]) => `${quote(key)}:${member}`).join(',')}}`),
  ),
}));

export const kinds: Kind[] = [
  { name: 'text', type: 'string', sent: wild.map(quote), postgres: ':v', mysql: ':v', canonical: plain },
  { name: 'untyped text', sent: wild.map(quote), postgres: ':v', mysql: ':v', canonical: plain },
  {
    name: 'integer',
    type: 'integer',
    sent: fc.integer().map(String),
    postgres: ':v',
    mysql: ':v',
    canonical: decimal,
  },
  {
    name: 'bigint',
    type: 'bigint',
    sent: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
    postgres: ':v',
    mysql: ':v',
    canonical: decimal,
  },
  {
    name: 'decimal',
    type: 'decimal',
    sent: fc
      .tuple(sign, digits(30), digits(25))
      .map(([minus, whole, part]) => `${minus}${BigInt(whole)}.${part}`),
    postgres: ':v',
    mysql: ':v',
    canonical: decimal,
  },
  {
    name: 'number',
    type: 'number',
    sent: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
    postgres: ':v',
    mysql: ':v + 0e0',
    canonical: double,
  },
  {
    name: 'boolean',
    type: 'boolean',
    sent: fc.boolean().map(String),
    postgres: ':v',
    mysql: "IF(:v, 'true', 'false')",
    canonical: unquoted,
  },
  {
    name: 'date',
    type: 'date',
    sent: date.map(quote),
    postgres: ':v',
    mysql: 'CAST(:v AS DATE)',
    canonical: plain,
  },
  {
    name: 'instant',
    type: 'timestamp',
    sent: instant.map(quote),
    postgres: ':v',
    mysql: 'CAST(:v AS DATETIME(6))',
    canonical: moment,
  },
  { name: 'uuid', type: 'uuid', sent: fc.uuid().map(quote), postgres: ':v', mysql: ':v', canonical: plain },
  {
    name: 'bytes',
    type: 'string',
    sent: fc.uint8Array({ maxLength: 50 }).map((bytes) => quote(Buffer.from(bytes).toString('base64'))),
    postgres: "decode(:v, 'base64')",
    mysql: 'FROM_BASE64(:v)',
    canonical: plain,
  },
  {
    name: 'document',
    type: 'json',
    sent: tree,
    postgres: ':v',
    mysql: "JSON_EXTRACT(:v, '$')",
    canonical: document,
  },
  {
    name: 'list',
    type: 'string[]',
    sent: fc
      .array(fc.oneof(wild.map(quote), fc.constantFrom('null', '"NULL"', '""')))
      .map((list) => `[${list.join(',')}]`),
    postgres: ':v',
    mysql: "JSON_EXTRACT(:v, '$')",
    canonical: document,
  },
];
