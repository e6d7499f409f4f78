/** Values that every engine has: each is written once, and must come out the same from all of them. */

import { row, type ValueCase } from './value-case.ts';

interface Shared extends Omit<ValueCase, 'type'> {
  postgres: string;
  mysql: string;
}

const same = (types: [postgres: string, mysql: string], ...rest: [string, string, object?]): Shared => ({
  postgres: types[0],
  mysql: types[1],
  value: rest[0],
  json: rest[1],
  ...rest[2],
});

const bigint: [string, string] = ['bigint', 'BIGINT'];
const decimal: [string, string] = ['numeric(30,10)', 'DECIMAL(30,10)'];
const double: [string, string] = ['double precision', 'DOUBLE'];
const single: [string, string] = ['real', 'FLOAT'];
const date: [string, string] = ['date', 'DATE'];
const time: [string, string] = ['time(6)', 'TIME(6)'];
const local: [string, string] = ['timestamp(6)', 'DATETIME(6)'];
const instant: [string, string] = ['timestamptz(6)', 'TIMESTAMP(6) NULL'];
const text: [string, string] = ['text', 'TEXT'];
const wild = '\'"\\\n\r\t\u0001\u007f\u2028é日本😀';

const shared: Shared[] = [
  same(['smallint', 'SMALLINT'], '-32768', '-32768'),
  same(['integer', 'INT'], '2147483647', '2147483647'),
  same(bigint, '999999999999999', '999999999999999', { strings: '"999999999999999"' }),
  same(bigint, '-1000000000000000', '"-1000000000000000"'),
  same(bigint, '9223372036854775807', '"9223372036854775807"'),
  same(decimal, '0.01', '0.0100000000', { strings: '"0.0100000000"' }),
  same(decimal, '-12345.6789', '-12345.6789000000', { strings: '"-12345.6789000000"' }),
  same(decimal, '12345678901234567890.1', '"12345678901234567890.1000000000"'),
  same(double, '0.1', '0.1'),
  same(double, '1.7976931348623157e308', '1.7976931348623157e+308'),
  same(single, '0.1', '0.1'),
  same(['bit(1)', 'BIT(1)'], '1', 'true'),
  same(['bit(5)', 'BIT(5)'], '00101', '"00101"'),
  same(date, '2026-11-20', '"2026-11-20"'),
  same(date, '9999-12-31', '"9999-12-31"'),
  same(time, '13:04:05', '"13:04:05"'),
  same(time, '13:04:05.120', '"13:04:05.12"'),
  same(local, '2026-11-20 13:04:05', '"2026-11-20T13:04:05.000"'),
  same(local, '2026-11-20 13:04:05.123400', '"2026-11-20T13:04:05.1234"'),
  same(instant, '2026-11-20 13:04:05.5', '"2026-11-20T13:04:05.500Z"'),
  same(instant, '2026-11-20 13:04:05.123456', '"2026-11-20T13:04:05.123456Z"'),
  same(text, '', '""'),
  same(text, wild, JSON.stringify(wild)),
  same(['character varying(20)', 'VARCHAR(20)'], ' a ', '" a "'),
  same(['json', 'JSON'], '{"a": [1, true, null, "é"]}', '{"a": [1, true, null, "é"]}', { document: true }),
];

/** As they are declared at the one or the other. */
export function sharedCases(dialect: 'postgres' | 'mysql'): ValueCase[] {
  return shared.map(({ postgres, mysql, value, json, ...more }) =>
    row(dialect === 'postgres' ? postgres : mysql, value, json, more),
  );
}
