/** Every kind of column that MariaDB and MySQL select: what is put in, and the bytes of the answer. */

import { sharedCases } from './shared-values.ts';
import { row, type ValueCase } from './value-case.ts';

const document = { document: true } as const;

const numbers: ValueCase[] = [
  row('TINYINT', '-128', '-128'),
  row('TINYINT UNSIGNED', '255', '255'),
  row('TINYINT(1)', '1', '1'),
  row('BOOLEAN', '0', '0'),
  row('SMALLINT', '-32768', '-32768'),
  row('SMALLINT UNSIGNED', '65535', '65535'),
  row('MEDIUMINT', '-8388608', '-8388608'),
  row('MEDIUMINT UNSIGNED', '16777215', '16777215'),
  row('INT', '-2147483648', '-2147483648'),
  row('INT UNSIGNED', '4294967295', '4294967295'),
  row('INT(5) ZEROFILL', '7', '7'),
  row('BIGINT', '999999999999999', '999999999999999', { strings: '"999999999999999"' }),
  row('BIGINT', '-1', '-1', { strings: '"-1"' }),
  row('BIGINT', '0', '0', { strings: '"0"' }),
  row('BIGINT', '4294967295', '4294967295', { strings: '"4294967295"' }),
  row('BIGINT', '1000000000000000', '"1000000000000000"'),
  row('BIGINT', '9223372036854775807', '"9223372036854775807"'),
  row('BIGINT', '-9223372036854775808', '"-9223372036854775808"'),
  row('BIGINT UNSIGNED', '18446744073709551615', '"18446744073709551615"'),
  row('DECIMAL(10,4)', '0.01', '0.0100', { strings: '"0.0100"' }),
  row('DECIMAL(10,4)', '-0.01', '-0.0100', { strings: '"-0.0100"' }),
  row('DECIMAL(15,0)', '123456789012345', '123456789012345', { strings: '"123456789012345"' }),
  row('DECIMAL(16,0)', '1234567890123456', '"1234567890123456"'),
  row('DECIMAL(65,30)', '12345678901234567890.12345', `"12345678901234567890.12345${'0'.repeat(25)}"`),
  row('DECIMAL(10,2) ZEROFILL', '5', '5.00', { strings: '"5.00"' }),
  row('DECIMAL(5,0) ZEROFILL', '0', '0', { strings: '"0"' }),
  row('FLOAT', '0.1', '0.1'),
  row('FLOAT', '16777217', '16777216'),
  row('FLOAT', '3.4028234e38', '3.4028235e+38'),
  row('FLOAT(7,2)', '1.5', '1.5'),
  row('DOUBLE', '0.1', '0.1'),
  row('DOUBLE', '1.7976931348623157e308', '1.7976931348623157e+308'),
  row('DOUBLE', '2.2250738585072014e-308', '2.2250738585072014e-308'),
  row('BIT(1)', '1', 'true'),
  row('BIT(1)', '0', 'false'),
  row('BIT(5)', '101', '"00101"'),
  row('BIT(64)', '1'.repeat(64), `"${'1'.repeat(64)}"`),
];

const times: ValueCase[] = [
  row('DATE', '2026-11-20', '"2026-11-20"'),
  row('DATE', '0001-01-01', '"0001-01-01"'),
  row('DATE', '9999-12-31', '"9999-12-31"'),
  row('DATE', '0000-00-00', 'null'),
  row('TIME', '13:04:05', '"13:04:05"'),
  row('TIME(6)', '13:04:05.123456', '"13:04:05.123456"'),
  row('TIME(3)', '00:00:00', '"00:00:00"'),
  row('TIME', '838:59:59', '"838:59:59"'),
  row('TIME(1)', '-100:00:00.5', '"-100:00:00.5"'),
  row('DATETIME', '2026-11-20 13:04:05', '"2026-11-20T13:04:05.000"'),
  row('DATETIME', '2026-11-20 00:00:00', '"2026-11-20T00:00:00.000"'),
  row('DATETIME(6)', '2026-11-20 13:04:05.120000', '"2026-11-20T13:04:05.120"'),
  row('DATETIME(6)', '9999-12-31 23:59:59.999999', '"9999-12-31T23:59:59.999999"'),
  row('DATETIME', '0000-00-00 00:00:00', 'null'),
  row('TIMESTAMP NULL', '2026-11-20 13:04:05', '"2026-11-20T13:04:05.000Z"'),
  row('TIMESTAMP(6) NULL', '2026-11-20 13:04:05.123456', '"2026-11-20T13:04:05.123456Z"'),
  row('TIMESTAMP NULL', '0000-00-00 00:00:00', 'null'),
  row('YEAR', '2026', '2026'),
  row('YEAR', '0000', '0'),
];

const texts: ValueCase[] = [
  row('TEXT', '', '""'),
  row('TEXT', 'it\'s "so"\\ \n\r\t\u0001\u001f\u007f', '"it\'s \\"so\\"\\\\ \\n\\r\\t\\u0001\\u001f\u007f"'),
  row('LONGTEXT', '日本 😀 \u2028 ﷽ e\u0301', '"日本 😀 \u2028 ﷽ e\u0301"'),
  row('TINYTEXT', 'NULL', '"NULL"'),
  row('MEDIUMTEXT', 'a,b', '"a,b"'),
  row('CHAR(5)', 'ab', '"ab"'),
  row('VARCHAR(9)', 'a b ', '"a b "'),
  row('VARCHAR(20) CHARACTER SET latin1', 'über €', '"über €"'),
  row('VARCHAR(20) CHARACTER SET utf8mb3', '日本', '"日本"'),
  row('VARCHAR(20) CHARACTER SET utf16', '日本 😀', '"日本 😀"'),
  row('VARCHAR(20) CHARACTER SET gbk', '縗\\', '"縗\\\\"'),
  row('VARCHAR(20) CHARACTER SET sjis', 'ソ表', '"ソ表"'),
  row("ENUM('a', 'b\"c')", 'b"c', '"b\\"c"'),
  row("ENUM('ä') CHARACTER SET latin1", 'ä', '"ä"'),
  row("SET('x', 'y', 'z')", 'x,z', '"x,z"'),
  row("SET('x', 'y')", '', '""'),
];

/** These are put in as hexadecimal digits. */
const bytes: ValueCase[] = [
  row('BINARY(3)', '01', '"AQAA"'),
  row('VARBINARY(9)', 'ff', '"/w=="'),
  row('BLOB', 'deadbeef00', '"3q2+7wA="'),
  row('TINYBLOB', '', '""'),
  row('LONGBLOB', '00'.repeat(300), `"${Buffer.alloc(300).toString('base64')}"`),
  row('VARCHAR(9) CHARACTER SET binary', '80', '"gA=="'),
];

const documents: ValueCase[] = [
  row('JSON', '{"a": [1, true, null, "é"]}', '{"a": [1, true, null, "é"]}', document),
  row('JSON', '"a\\n é"', '"a\\n é"', document),
  row('JSON', 'null', 'null', document),
];

/** MariaDB keeps a document's own text, and has types that MySQL has not. */
const ofMariadb: ValueCase[] = [
  row('JSON', '{"n": 12345678901234567890.10}', '{"n": 12345678901234567890.10}', document),
  row('JSON', '{"a":\r\n  [1,\n2], "a": 1.10}', '{"a":    [1, 2], "a": 1.10}', document),
  row('JSON', '[1., "\\x"]', '"[1., \\"\\\\x\\"]"', document),
  row('UUID', '5F0C2A52-3F5E-4E0E-8F2A-0A0B0C0D0E0F', '"5f0c2a52-3f5e-4e0e-8f2a-0a0b0c0d0e0f"'),
  row('INET6', '2001:db8::ff', '"2001:db8::ff"'),
  row('INET4', '10.0.0.1', '"10.0.0.1"'),
];

/** Four bytes for the reference system, one for the order of bytes, four for the kind, then numbers. */
const geometry = (kind: number, ...words: Buffer[]) => {
  const head = Buffer.alloc(9);
  head[4] = 1;
  head.writeUInt32LE(kind, 5);
  return `"${Buffer.concat([head, ...words]).toString('base64')}"`;
};
const double = (value: number) => {
  const out = Buffer.alloc(8);
  out.writeDoubleLE(value);
  return out;
};
const two = Buffer.from([2, 0, 0, 0]);

/** These are put in as well-known text. */
const shapes: ValueCase[] = [
  row('GEOMETRY', 'POINT(1 2.5)', geometry(1, double(1), double(2.5))),
  row('POINT', 'POINT(-1 0)', geometry(1, double(-1), double(0))),
  row('LINESTRING', 'LINESTRING(0 0,1 2)', geometry(2, two, ...[0, 0, 1, 2].map(double))),
];

/** How the value is written into a statement in place of `?` or of a string. */
export interface Column extends ValueCase {
  wrap: (value: string) => string;
}

const columns = (list: ValueCase[], wrap: Column['wrap']) => list.map((one) => ({ ...one, wrap }));

export function columnsOf(engine: 'mysql' | 'mariadb'): Column[] {
  const plain = [
    ...sharedCases('mysql'),
    ...numbers,
    ...times,
    ...texts,
    ...documents,
    ...(engine === 'mariadb' ? ofMariadb : []),
  ];
  const isBit = ({ type }: ValueCase) => type.startsWith('BIT');
  return [
    ...columns(
      plain.filter((one) => !isBit(one)),
      (value) => value,
    ),
    ...columns(plain.filter(isBit), (value) => `CAST(CONV(${value}, 2, 10) AS UNSIGNED)`),
    ...columns(bytes, (value) => `UNHEX(${value})`),
    ...columns(shapes, (value) => `ST_GeomFromText(${value})`),
  ];
}
