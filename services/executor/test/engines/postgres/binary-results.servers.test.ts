/** Arrow from results in the binary format: its bytes are those from texts, on each way to the server. */

import { randomUUID } from 'node:crypto';
import { tableFromIPC } from 'apache-arrow';
import { afterEach, describe, expect, it } from 'vitest';
import { createPostgresEngine } from '../../../src/engines/postgres/index.ts';
import type { Connection, ConnectSettings } from '../../../src/ports/engine.ts';
import type { RowSink, SinkColumn } from '../../../src/ports/row-sink.ts';
import { type AskOptions, ask, dial, settingsOf } from '../../fixture.ts';

const {
  POSTGRES_URL: url,
  POSTGRES18_URL,
  PGBOUNCER_URL,
  PGBOUNCER_TRANSACTION_URL,
  PGPOOL_URL,
} = process.env;

const opened: Connection[] = [];
async function connect(to: string, more: Partial<ConnectSettings> = {}): Promise<Connection> {
  const deps = { dial, signal: AbortSignal.timeout(60_000), facts: {} };
  const connection = await createPostgresEngine().connect({ ...settingsOf('postgres', to), ...more }, deps);
  opened.push(connection);
  return connection;
}
afterEach(() => {
  for (const connection of opened.splice(0)) connection.close();
});

const arrow = async (connection: Connection, text: string, options: AskOptions = {}) =>
  (await ask(connection, text, { format: 'arrow', ...options })).bytes;
/** The hub does not name a statement that can write, so its result comes as texts. */
const fromTexts = { kind: 'write' } as const;

const columns: Record<string, string[]> = {
  smallint: ['-32768', '0', '32767'],
  integer: ['-2147483648', '-1', '2147483647'],
  bigint: ['-9223372036854775808', '4294967296', '9223372036854775807'],
  oid: ['0', '4294967295'],
  real: ['-0', '1e-45', '3.4028235e38', 'NaN', '-Infinity', '0.1'],
  'double precision': ['-0', '5e-324', '1.7976931348623157e308', 'NaN', 'Infinity', '0.1'],
  boolean: ['t', 'f'],
  text: ['', 'a', '日本 😀'],
  'character varying(9)': ['', 'a b '],
  'character(5)': ['ab'],
  name: ['a name'],
  bytea: ['', '\\x00ff5c41'],
  uuid: ['00000000-0000-0000-0000-000000000000', '5f0c2a52-3f5e-4e0e-8f2a-ff0b0c0d0eff'],
  date: ['0001-01-01', '1969-12-31', '2000-02-29', '5874897-12-31'],
  time: ['00:00:00', '23:59:59.999999'],
  timestamp: ['0001-01-01', '1969-12-31 23:59:59.999999', '2026-11-20 13:04:05.1', '294246-12-31 23:59:59'],
  timestamptz: ['0001-01-01 00:00:00+00', '2026-11-20 13:04:05.123456+05:30', '294246-12-31 23:59:59+00'],
  'numeric(38,9)': [`-${'9'.repeat(29)}.${'9'.repeat(9)}`, '0', '0.000000001'],
  'numeric(50,2)': [`${'9'.repeat(48)}.99`],
  numeric: ['NaN', 'Infinity', '0.0100', '9'.repeat(400), '-1e-300'],
  json: ['{"a": 1}'],
  jsonb: ['[1.10, "é"]'],
  'integer[]': ['{1,NULL}'],
  inet: ['10.0.0.1/8'],
  interval: ['1 day 2 hours'],
};
const lists = Object.entries(columns).map(
  ([type, values], i) =>
    `unnest(ARRAY[NULL, ${values.map((value) => `'${value}'`)}]::text[])::${type} AS c${i}`,
);
/** Rows with each value; a shorter list ends with NULL. */
const extremes = `SELECT ${lists.join(', ')}`;

/** Doubles and times of all sizes. */
const many = `SELECT n::int2 AS i2, (n * 7919 - 8000000)::int AS i4, (n::int8 * 4611686018427387 - 4611686018427387904) AS i8,
  (sin(n) * 10::float8 ^ (n % 600 - 300))::float8 AS f8, (cos(n) * 10::float8 ^ (n % 70 - 35))::float4 AS f4,
  date '0001-01-01' + n * 1999 AS d, time '00:00' + n * interval '43.123457 seconds' AS t,
  timestamp '0001-01-01' + n * interval '123456789.012345 seconds' AS ts, md5(n::text)::uuid AS u, n % 3 = 0 AS b
  FROM generate_series(0, 2000) AS n`;

const routes: [name: string, to: string | undefined, settings?: Partial<ConnectSettings>][] = [
  ['PostgreSQL', url],
  ['PostgreSQL 18', POSTGRES18_URL],
  ['PgBouncer', PGBOUNCER_URL],
  ['PgBouncer in transaction mode', PGBOUNCER_TRANSACTION_URL, { pooling: 'transaction' }],
  ['Pgpool-II', PGPOOL_URL],
];
for (const [name, to, settings] of routes)
  describe.skipIf(to === undefined)(`results in Arrow from ${name}`, () => {
    it.each([
      ['extremes', extremes],
      ['many values', many],
    ])('are the same from binary values and from texts: %s', async (_, text) => {
      const connection = await connect(to as string, settings);
      const texts = await arrow(connection, text, fromTexts);
      expect(tableFromIPC(texts).numRows).toBeGreaterThan(5);
      expect(await arrow(connection, text)).toEqual(texts);
      // Again, as prepared.
      expect(await arrow(connection, text)).toEqual(texts);
    });
  });

/** Collects the bytes of each row's fields as hexadecimal digits. */
function createHexSink() {
  const rows: (string | null)[][] = [];
  let columns: readonly SinkColumn[] = [];
  const sink: RowSink = {
    takesDocuments: false,
    takesBinary: true,
    begin: (begun) => {
      columns = begun;
    },
    row: (source, offsets) => {
      const field = (_: unknown, i: number) =>
        (offsets[2 * i] as number) < 0 ? null : source.toString('hex', offsets[2 * i], offsets[2 * i + 1]);
      rows.push(columns.map(field));
    },
    document: () => {},
    truncated: false,
    full: false,
    onDrain: () => {},
  };
  return { sink, rows, areBinary: () => columns.map(({ binary }) => binary !== undefined) };
}

describe.skipIf(url === undefined)('a result for a sink that takes binary values', () => {
  const run = (connection: Connection, text: string, sink: RowSink, more = {}) =>
    connection.run({ key: text, text, params: [], kind: 'read', ...more }, sink, {
      statementTimeoutMs: 10_000,
    });
  const text = "SELECT 258 AS i, 'é' AS t, true AS b, NULL::int8 AS n, '{1}'::int[] AS a";

  it('has them in columns that are cheaper so, and texts in the others', async () => {
    const { sink, rows, areBinary } = createHexSink();
    await run(await connect(url as string), text, sink);
    expect(areBinary()).toEqual([true, false, false, true, false]);
    expect(rows).toEqual([['00000102', 'c3a9', '74', null, '7b317d']]);
  });

  it.each([
    ['can write', { kind: 'write' }],
    ['runs once', { isOnce: true }],
  ])('has texts if the statement %s, because its columns can change until it runs', async (_, more) => {
    const { sink, rows, areBinary } = createHexSink();
    await run(await connect(url as string), text, sink, more);
    expect(areBinary()).not.toContain(true);
    expect(rows[0]?.[0]).toBe('323538');
  });

  it('comes from the statement that was prepared for JSON, and the reverse', async () => {
    const connection = await connect(url as string);
    const count =
      "SELECT count(*)::int AS n FROM pg_catalog.pg_prepared_statements WHERE name LIKE 'dh\\_%' AND statement LIKE '%this one%'";
    expect((await ask(connection, count)).data).toEqual([{ n: 1 }]);
    const table = tableFromIPC(await arrow(connection, count));
    expect(String(table.toArray())).toBe('{"n": 1}');
    expect((await ask(connection, count)).data).toEqual([{ n: 1 }]);
  });

  it('follows columns whose types and number change after the statement was prepared', async () => {
    const connection = await connect(url as string);
    const other = await connect(url as string);
    const table = `binary_${randomUUID().replaceAll('-', '')}`;
    const change = (command: string) => ask(other, command, { kind: 'standalone' });
    await change(`CREATE TABLE ${table} AS SELECT 1::int4 AS a`);
    try {
      const all = `SELECT * FROM ${table}`;
      const read = async () => String(tableFromIPC(await arrow(connection, all)).toArray());
      expect(await read()).toBe('{"a": 1}');
      await change(`ALTER TABLE ${table} ALTER a TYPE point USING point(a, 2)`);
      expect(await read()).toBe('{"a": "(1,2)"}');
      await change(
        `ALTER TABLE ${table} ADD b timestamp DEFAULT '1970-01-01 00:00:01', ALTER a TYPE int8 USING 3`,
      );
      expect(await read()).toBe('{"a": 3, "b": 1000}');
    } finally {
      await change(`DROP TABLE ${table}`);
    }
  });

  it('ends at the limit', async () => {
    const connection = await connect(url as string);
    const { bytes, outcome } = await ask(connection, many, { format: 'arrow', maxRows: 7 });
    expect([tableFromIPC(bytes).numRows, outcome.truncated]).toEqual([7, true]);
  });

  it('names the column with a value that Arrow cannot hold, and serves the next call', async () => {
    const connection = await connect(url as string);
    const infinity = "SELECT 1 AS a, 'infinity'::timestamptz AS until";
    await expect(arrow(connection, infinity)).rejects.toMatchObject({
      code: 'CONTRACT_BROKEN',
      message: expect.stringContaining('"until"'),
    });
    expect((await ask(connection, 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
  });
});
