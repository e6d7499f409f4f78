/** Every kind of type that PostgreSQL selects: what is put in, and the bytes of the answer. */

import { sharedCases } from './shared-values.ts';
import { row, type ValueCase } from './value-case.ts';

const document = { document: true } as const;

const numbers: ValueCase[] = [
  row('smallint', '-32768', '-32768'),
  row('smallint', '32767', '32767'),
  row('integer', '-2147483648', '-2147483648'),
  row('integer', '0', '0'),
  row('bigint', '999999999999999', '999999999999999', { strings: '"999999999999999"' }),
  row('bigint', '-999999999999999', '-999999999999999', { strings: '"-999999999999999"' }),
  row('bigint', '1000000000000000', '"1000000000000000"'),
  row('bigint', '9223372036854775807', '"9223372036854775807"'),
  row('bigint', '-9223372036854775808', '"-9223372036854775808"'),
  row('numeric', '0', '0', { strings: '"0"' }),
  row('numeric', '0.0100', '0.0100', { strings: '"0.0100"' }),
  row('numeric', '-10.50', '-10.50', { strings: '"-10.50"' }),
  row('numeric', '0.000000000000001', '0.000000000000001', { strings: '"0.000000000000001"' }),
  row('numeric', '123456789012345', '123456789012345', { strings: '"123456789012345"' }),
  row('numeric', '1234567890123456', '"1234567890123456"'),
  row('numeric', '100000000000000000000', '"100000000000000000000"'),
  row('numeric', '12345678901234567890.1234567890', '"12345678901234567890.1234567890"'),
  row('numeric', `${'9'.repeat(400)}.5`, `"${'9'.repeat(400)}.5"`),
  row('numeric', 'NaN', '"NaN"'),
  row('numeric', '-Infinity', '"-Infinity"'),
  row('numeric(10,4)', '0.01', '0.0100', { strings: '"0.0100"' }),
  row('real', '0.1', '0.1'),
  row('real', '3.4028235e38', '3.4028235e+38'),
  row('real', '1e-45', '1e-45'),
  row('real', '-0', '-0'),
  row('real', 'NaN', '"NaN"'),
  row('double precision', '0.1', '0.1'),
  row('double precision', '1.7976931348623157e308', '1.7976931348623157e+308'),
  row('double precision', '5e-324', '5e-324'),
  row('double precision', '-0', '-0'),
  row('double precision', 'Infinity', '"Infinity"'),
  row('double precision', '-Infinity', '"-Infinity"'),
  row('money', '-1234.56', '"-$1,234.56"'),
  row('oid', '4294967295', '4294967295'),
  row('boolean', 't', 'true'),
  row('boolean', 'off', 'false'),
  row('bit(1)', '1', 'true'),
  row('bit(1)', '0', 'false'),
  row('bit(5)', '00101', '"00101"'),
  row('bit varying(8)', '', '""'),
  row('bit varying(8)', '1', '"1"'),
];

const times: ValueCase[] = [
  row('date', '2026-11-20', '"2026-11-20"'),
  row('date', '5874897-12-31', '"5874897-12-31"'),
  row('date', '0044-03-15 BC', '"0044-03-15 BC"'),
  row('date', '-infinity', '"-infinity"'),
  row('time', '13:04:05.123456', '"13:04:05.123456"'),
  row('time', '24:00:00', '"24:00:00"'),
  row('time(0)', '13:04:05', '"13:04:05"'),
  row('timetz', '13:04:05.5+05:30', '"13:04:05.5+05:30"'),
  row('timestamp', '2026-11-20 13:04:05', '"2026-11-20T13:04:05.000"'),
  row('timestamp', '2026-11-20 13:04:05.1', '"2026-11-20T13:04:05.100"'),
  row('timestamp', '2026-11-20 13:04:05.123456', '"2026-11-20T13:04:05.123456"'),
  row('timestamp', '0001-01-01 00:00:00', '"0001-01-01T00:00:00.000"'),
  row('timestamp', '294276-12-31 23:59:59.999999', '"294276-12-31T23:59:59.999999"'),
  row('timestamp', '0044-03-15 12:00:00 BC', '"0044-03-15 12:00:00 BC"'),
  row('timestamp', 'infinity', '"infinity"'),
  row('timestamptz', '2026-11-20 13:04:05.123456+02', '"2026-11-20T11:04:05.123456Z"'),
  row('timestamptz', '2026-11-20 13:04:05 America/New_York', '"2026-11-20T18:04:05.000Z"'),
  row('timestamptz', '294276-12-31 23:59:59.999999+00', '"294276-12-31T23:59:59.999999Z"'),
  row('timestamptz', '4713-01-01 00:00:00+00 BC', '"4713-01-01 00:00:00+00 BC"'),
  row('timestamptz', '-infinity', '"-infinity"'),
  row('interval', '1 year 2 months 3 days 04:05:06.789', '"P1Y2M3DT4H5M6.789S"'),
  row('interval', '-1 year -2 mons +3 days -04:05:06', '"P-1Y-2M3DT-4H-5M-6S"'),
  row('interval', '0', '"PT0S"'),
];

const texts: ValueCase[] = [
  row('text', '', '""'),
  row('text', 'it\'s "so"\\ \n\r\t\u0001\u001f\u007f', '"it\'s \\"so\\"\\\\ \\n\\r\\t\\u0001\\u001f\u007f"'),
  row('text', '日本 😀 \u2028 ﷽ e\u0301', '"日本 😀 \u2028 ﷽ e\u0301"'),
  row('text', 'NULL', '"NULL"'),
  row('text', 'a,b', '"a,b"'),
  row('character(5)', 'ab', '"ab   "'),
  row('character varying(9)', 'a b ', '"a b "'),
  row('"char"', 'x', '"x"'),
  row('name', 'a name', '"a name"'),
  row('uuid', '5F0C2A52-3F5E-4E0E-8F2A-0A0B0C0D0E0F', '"5f0c2a52-3f5e-4e0e-8f2a-0a0b0c0d0e0f"'),
  row('bytea', '\\xdeadbeef00', '"3q2+7wA="'),
  row('bytea', '', '""'),
  row('xml', '<a b="c">&lt;é</a>', '"<a b=\\"c\\">&lt;é</a>"'),
  row('value_mood', 'not "glad"', '"not \\"glad\\""'),
  row('value_small', '7', '7'),
  row('value_list', '{1,NULL}', '[1,null]', { alone: true }),
  row('value_pair', '(1,"x, ""y""")', '"(1,\\"x, \\"\\"y\\"\\"\\")"'),
];

const documents: ValueCase[] = [
  row('json', '{"n": 12345678901234567890.10, "n": 1}', '{"n": 12345678901234567890.10, "n": 1}', document),
  row('json', '{"a":\r\n  [1,\n2]}', '{"a":    [1, 2]}', document),
  row('json', '"a\\n\\u0000\\ud800 é"', '"a\\n\\u0000\\ud800 é"', document),
  row('json', 'null', 'null', document),
  row(
    'jsonb',
    '{"b": [1.10, -0, 1e3], "a": {"__proto__": null}}',
    '{"a": {"__proto__": null}, "b": [1.10, 0, 1000]}',
    document,
  ),
  row('jsonb', '12345678901234567890123', '12345678901234567890123', document),
  row('jsonpath', '$.a[*] ? (@ > 1)', '"$.\\"a\\"[*]?(@ > 1)"'),
];

const others: ValueCase[] = [
  row('inet', '10.0.0.1/8', '"10.0.0.1/8"'),
  row('inet', '::1', '"::1"'),
  row('cidr', '10.0.0.0/8', '"10.0.0.0/8"'),
  row('macaddr', '08002b:010203', '"08:00:2b:01:02:03"'),
  row('macaddr8', '08:00:2b:01:02:03:04:05', '"08:00:2b:01:02:03:04:05"'),
  row('tsvector', "'it''s':1A b", "\"'b' 'it''s':1A\""),
  row('tsquery', 'a & !b', "\"'a' & !'b'\""),
  row('int4range', '(1,5]', '"[2,6)"'),
  row('numrange', '[1.50,)', '"[1.50,)"'),
  row('daterange', 'empty', '"empty"'),
  row('tstzrange', '[2026-11-20 00:00:00+00,)', '"[\\"2026-11-20 00:00:00+00\\",)"'),
  row('int4multirange', '{[1,3),[5,7)}', '"{[1,3),[5,7)}"'),
  row('point', '(1,2.5)', '"(1,2.5)"'),
  row('line', '{1,2,3}', '"{1,2,3}"'),
  row('lseg', '[(0,0),(1,1)]', '"[(0,0),(1,1)]"'),
  row('box', '(1,1),(0,0)', '"(1,1),(0,0)"', { alone: true }),
  row('path', '[(0,0),(1,1)]', '"[(0,0),(1,1)]"'),
  row('polygon', '((0,0),(1,1),(1,0))', '"((0,0),(1,1),(1,0))"'),
  row('circle', '<(1,2),3>', '"<(1,2),3>"'),
  row('pg_lsn', '16/B374D848', '"16/B374D848"'),
  row('regclass', 'pg_class', '"pg_class"'),
  row('xid8', '18446744073709551615', '"18446744073709551615"'),
  row('tid', '(0,1)', '"(0,1)"'),
  row('int2vector', '1 2 3', '"1 2 3"', { alone: true }),
];

const arrays: ValueCase[] = [
  row('integer[]', '{}', '[]', { alone: true }),
  row('integer[]', '[0:1]={1,NULL}', '[1,null]', { alone: true }),
  row('integer[]', '{{{1},{2}},{{3},{NULL}}}', '[[[1],[2]],[[3],[null]]]', { alone: true }),
  row('bigint[]', '{1,9223372036854775807}', '[1,"9223372036854775807"]', {
    alone: true,
    strings: '["1","9223372036854775807"]',
  }),
  row(
    'text[]',
    '{NULL,"NULL","",",","{","}","\\"","\\\\"," a ",b}',
    '[null,"NULL","",",","{","}","\\"","\\\\"," a ","b"]',
    { alone: true },
  ),
];

/** Types of the database’s own that the table uses. */
export const setUp = [
  "CREATE TYPE value_mood AS ENUM ('sad', 'not \"glad\"')",
  'CREATE DOMAIN value_small AS integer CHECK (VALUE < 10)',
  'CREATE DOMAIN value_list AS integer[]',
  'CREATE TYPE value_pair AS (a integer, b text)',
];

export const cases: ValueCase[] = [
  ...sharedCases('postgres'),
  ...numbers,
  ...times,
  ...texts,
  ...documents,
  ...others,
  ...arrays,
];
