import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPostgresEngine } from '../../../src/engines/postgres/index.ts';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, dial, settingsOf } from '../../fixture.ts';

const url = process.env.POSTGRES_URL;

describe.skipIf(url === undefined)('PostgreSQL (needs POSTGRES_URL)', () => {
  const engine = createPostgresEngine();
  const open = (change: object = {}) =>
    engine.connect(
      { ...settingsOf('postgres', url as string), ...change },
      { dial, signal: AbortSignal.timeout(60_000) },
    );
  let connection: Connection;

  beforeAll(async () => {
    connection = await open();
  });
  afterAll(() => connection.close());

  const value = async (expression: string, asked: object = {}) =>
    (await ask(connection, `SELECT ${expression} AS v`, asked)).data[0]?.v;

  it.each<[string, unknown]>([
    ['NULL::int', null],
    ['(-32768)::smallint', -32768],
    ['2147483647::int', 2147483647],
    ['999999999999999::bigint', 999999999999999],
    ['1000000000000000::bigint', '1000000000000000'],
    ['(-9223372036854775808)::bigint', '-9223372036854775808'],
    ["'NaN'::numeric", 'NaN'],
    ['12345678901234567890.12345::numeric', '12345678901234567890.12345'],
    ['0.1::float8', 0.1],
    ["'-Infinity'::float8", '-Infinity'],
    ['1e300::float8', 1e300],
    ['0.1::float4', 0.1],
    ['true', true],
    ["B'0'::bit(1)", false],
    ["B'101'::bit(3)", '101'],
    ["'a\"\\\u0001\n😀'::text", 'a"\\\u0001\n😀'],
    ["''::text", ''],
    ["date '2026-11-20'", '2026-11-20'],
    ["date '0044-03-15 BC'", '0044-03-15 BC'],
    ["time '13:04:05.123456'", '13:04:05.123456'],
    ["timestamp '2026-11-20 13:04:05'", '2026-11-20T13:04:05.000'],
    ["timestamptz '2026-11-20 13:04:05.123456+02'", '2026-11-20T11:04:05.123456Z'],
    ["timestamptz 'infinity'", 'infinity'],
    ["interval '1 year 2 days 03:04:05'", 'P1Y2DT3H4M5S'],
    ["'\\xdeadbeef'::bytea", '3q2+7w=='],
    ["''::bytea", ''],
    ["'5f0c2a52-3f5e-4e0e-8f2a-0a0b0c0d0e0f'::uuid", '5f0c2a52-3f5e-4e0e-8f2a-0a0b0c0d0e0f'],
    ["inet '10.0.0.1/8'", '10.0.0.1/8'],
    ['ARRAY[1, NULL, 3]', [1, null, 3]],
    [
      "ARRAY[['a', 'b'], ['c,d', 'e\"f\\']]",
      [
        ['a', 'b'],
        ['c,d', 'e"f\\'],
      ],
    ],
    ["'[0:1]={1,2}'::int[]", [1, 2]],
    ["'{}'::text[]", []],
    ["ARRAY['NULL', NULL]::text[]", ['NULL', null]],
    ['ARRAY[true, false]', [true, false]],
    ['ARRAY[\'{"a": 1}\'::jsonb]', [{ a: 1 }]],
    ["ARRAY[box '((0,0),(1,1))', box '((2,2),(3,3))']", '{(1,1),(0,0);(3,3),(2,2)}'],
    ['int4range(1, 5)', '[1,5)'],
    ["ROW(1, 'x')", '(1,x)'],
    ["'1 2 3'::int2vector", '1 2 3'],
    ["''::int2vector", ''],
  ])('writes %s', async (expression, expected) => {
    expect(await value(expression)).toEqual(expected);
  });

  it('keeps digits and scale in the text', async () => {
    const { text } = await ask(
      connection,
      'SELECT 0.0100::numeric AS a, 1.50::numeric AS b, 100::numeric AS c, \'{"n": 12345678901234567890.10}\'::json AS d',
    );
    expect(text).toBe('{"data":[{"a":0.0100,"b":1.50,"c":100,"d":{"n": 12345678901234567890.10}}]}');
    expect(await value('5::bigint', { numbers: 'string' })).toBe('5');
    expect(await value('1.5::numeric', { numbers: 'string' })).toBe('1.5');
    const long = "12345678901234567890.10 AS a, ARRAY[9007199254740993, NULL] AS b, 'NaN'::numeric AS c";
    const numbers = '{"a":12345678901234567890.10,"b":[9007199254740993,null],"c":"NaN"}';
    for (const format of ['json', 'ndjson'] as const) {
      const { text } = await ask(connection, `SELECT ${long}`, { numbers: 'number', format });
      expect(text).toContain(numbers);
    }
  });

  it('writes enums, domains and their arrays as they are', async () => {
    const setUp = [
      'DROP TYPE IF EXISTS hub_mood CASCADE',
      "CREATE TYPE hub_mood AS ENUM ('sad', 'glad')",
      'DROP DOMAIN IF EXISTS hub_small CASCADE',
      'CREATE DOMAIN hub_small AS int CHECK (VALUE < 10)',
    ];
    for (const text of setUp) await ask(connection, text, { kind: 'standalone' });
    const { data } = await ask(
      connection,
      "SELECT 'glad'::hub_mood AS e, ARRAY['sad', NULL]::hub_mood[] AS a, 7::hub_small AS d",
    );
    expect(data).toEqual([{ e: 'glad', a: ['sad', null], d: 7 }]);
  });

  it('names every column, whatever it is called', async () => {
    const { text } = await ask(
      connection,
      'SELECT 1 AS id, 2 AS id, 3 AS id_2, 4 AS "__proto__", 5 AS "a""b\\c", 6 AS constructor',
    );
    expect(text).toBe('{"data":[{"id":1,"id_3":2,"id_2":3,"__proto__":4,"a\\"b\\\\c":5,"constructor":6}]}');
  });

  it('keeps a JSON string’s quotes in CSV', async () => {
    const { text } = await ask(
      connection,
      `SELECT '"abc"'::jsonb AS a, 'abc' AS b, '' AS c, NULL AS d, '{"x":1}'::json AS e`,
      {
        format: 'csv',
      },
    );
    expect(text).toBe('a,b,c,d,e\r\n"""abc""",abc,"",,"{""x"":1}"\r\n');
  });

  it('writes bits without a digit as an empty text in CSV', async () => {
    const columns = `substring(B'101' from 4) AS a, B'' AS b, NULL::bit AS c, B'01' AS d`;
    const { text } = await ask(connection, `SELECT ${columns}`, { format: 'csv' });
    expect(text).toBe('a,b,c,d\r\n"","",,01\r\n');
  });

  it('goes on when a table changes under a prepared statement', async () => {
    const change = (text: string) => ask(connection, text, { kind: 'standalone' });
    await change('DROP TABLE IF EXISTS hub_plan');
    await change('CREATE TABLE hub_plan (a int)');
    const read = () => ask(connection, 'SELECT * FROM hub_plan', { key: 'plan' });
    expect((await read()).text).toBe('{"data":[]}');
    await ask(connection, 'INSERT INTO hub_plan VALUES (1)', { kind: 'write' });
    const other = await open();
    await ask(other, 'ALTER TABLE hub_plan ADD b text', { kind: 'standalone' });
    other.close();
    expect((await read()).text).toBe('{"data":[{"a":1,"b":null}]}');
    await change('DROP TABLE hub_plan');
  });

  it('hands nothing of its environment to the database', async () => {
    process.env.PGOPTIONS = '-c search_path=leaked';
    process.env.PGPASSWORD = settingsOf('postgres', url as string).password;
    try {
      const own = await open();
      expect((await ask(own, 'SHOW search_path')).data).toEqual([{ search_path: '"$user", public' }]);
      own.close();
      // The state is what the log tells of it.
      const cause = { code: expect.stringMatching(/^28/) };
      await expect(open({ password: '' })).rejects.toMatchObject({ code: 'SOURCE_AUTH', cause });
    } finally {
      delete process.env.PGOPTIONS;
      delete process.env.PGPASSWORD;
    }
  });

  it('leaves no lock, setting or temporary table behind', async () => {
    await ask(connection, "SELECT query_to_xml('SELECT pg_advisory_lock(4714)', true, true, '')");
    await ask(connection, "SELECT set_config('search_path', 'evil', false)");
    await ask(connection, 'CREATE TEMP TABLE hub_temp (a int)', { kind: 'standalone' });
    const { data } = await ask(
      connection,
      "SELECT (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4714) AS locks, current_setting('search_path') AS path, to_regclass('hub_temp') AS temp, current_setting('TimeZone') AS zone",
    );
    expect(data).toEqual([{ locks: 0, path: '"$user", public', temp: null, zone: 'UTC' }]);
    expect(connection.broken).toBe(false);
  });

  it('never writes with a read, also through a function', async () => {
    await ask(connection, 'DROP TABLE IF EXISTS hub_written', { kind: 'standalone' });
    await ask(connection, 'CREATE TABLE hub_written (a int)', { kind: 'standalone' });
    for (const text of [
      'INSERT INTO hub_written VALUES (1)',
      'WITH w AS (INSERT INTO hub_written VALUES (1) RETURNING a) SELECT * FROM w',
      "SELECT query_to_xml('INSERT INTO hub_written VALUES (1) RETURNING a', true, true, '')",
      "SELECT set_config('transaction_read_only', 'off', false), query_to_xml('INSERT INTO hub_written VALUES (1) RETURNING a', true, true, '')",
    ]) {
      await expect(ask(connection, text)).rejects.toMatchObject({ code: 'SQL_REJECTED' });
    }
    expect((await ask(connection, 'SELECT * FROM hub_written')).data).toEqual([]);
    await ask(connection, 'DROP TABLE hub_written', { kind: 'standalone' });
  });

  it('loses no connection over failing statements', async () => {
    for (let i = 0; i < 300; i++) {
      await expect(ask(connection, `SELECT ${i} FROM no_such_table`, { key: `k${i}` })).rejects.toMatchObject(
        {
          code: 'SQL_REJECTED',
          sql: { state: '42P01', line: 1 },
        },
      );
      await expect(ask(connection, 'SELECT 1 / $1::int', { params: [0] })).rejects.toMatchObject({
        code: 'SQL_REJECTED',
      });
    }
    expect(connection.broken).toBe(false);
    expect(await value('1')).toBe(1);
  });

  it('passes on the hint of the server, and none of user code', async () => {
    const messageOf = async (text: string) =>
      ((await ask(connection, text).catch((failure) => failure)) as Error).message;
    expect(await messageOf('SELECT t.nam FROM (SELECT 1 AS name) t')).toBe(
      'The database rejected the statement: column t.nam does not exist. Perhaps you meant to reference the column "t.name".',
    );
    expect(await messageOf('SELECT 1 = true')).toContain('You might need to add explicit type casts.');
    expect(await messageOf("SELECT 1 = 'a'::text")).toBe(
      'The database rejected the statement: operator does not exist: integer = text. A variable that is compared with this type needs a cast (:name::integer), or no declared type.',
    );
    await ask(
      connection,
      "CREATE OR REPLACE FUNCTION hub_hinting() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE 'no' USING HINT = 'canary-4712'; END $$",
      { kind: 'standalone' },
    );
    expect(await messageOf('SELECT hub_hinting()')).toBe('The database rejected the statement: no.');
  });

  it('reveals no value', async () => {
    const secret = 'canary-4711';
    for (const [text, params] of [
      ['SELECT $1::int', [secret]],
      ['SELECT $1::date', [secret]],
      ['SELECT $1::uuid', [secret]],
    ] as const) {
      const err = await ask(connection, text, { params: [...params] }).catch((failure) => failure);
      expect(err.code).toBe('SQL_REJECTED');
      expect(`${err.message}${JSON.stringify(err)}`).not.toContain(secret);
    }
  });

  it('stops at the database when asked, and is fit for the next statement', async () => {
    const running = ask(connection, 'SELECT pg_sleep(600)').catch((err) => err);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await connection.cancel(AbortSignal.timeout(30_000));
    expect(await running).toMatchObject({ code: 'CANCELLED' });
    if (connection.broken) connection = await open();
    expect(await value('2')).toBe(2);
  });

  it('rolls back a dry run and a write that touches too much', async () => {
    await ask(connection, 'DROP TABLE IF EXISTS hub_held', { kind: 'standalone' });
    await ask(connection, 'CREATE TABLE hub_held AS SELECT generate_series(1, 5) AS a', {
      kind: 'standalone',
    });
    const remove = (options: object) =>
      ask(connection, 'DELETE FROM hub_held', { kind: 'write', ...options });
    expect((await remove({ dryRun: true })).data).toEqual([{ affectedRows: 5 }]);
    await expect(remove({ maxAffected: 4 })).rejects.toMatchObject({ code: 'MAX_AFFECTED' });
    expect((await ask(connection, 'SELECT count(*)::int AS n FROM hub_held')).data).toEqual([{ n: 5 }]);
    expect((await remove({ maxAffected: 5 })).data).toEqual([{ affectedRows: 5 }]);
    await ask(connection, 'DROP TABLE hub_held', { kind: 'standalone' });
  });

  it.each([{ dryRun: true }, { maxAffected: 9 }])(
    'says that a write with %o was not made whose connection broke before COMMIT',
    async (options) => {
      await ask(connection, 'CREATE TABLE hub_ended (a boolean)', { kind: 'standalone' });
      const other = await open();
      const text = 'INSERT INTO hub_ended SELECT pg_terminate_backend(pg_backend_pid())';
      const ended = {
        code: 'SOURCE_UNREACHABLE',
        message: expect.stringContaining('before the statement took effect'),
      };
      await expect(ask(other, text, { kind: 'write', ...options })).rejects.toMatchObject(ended);
      expect((await ask(connection, 'SELECT * FROM hub_ended')).data).toEqual([]);
      await ask(connection, 'DROP TABLE hub_ended', { kind: 'standalone' });
    },
  );

  it('do not count what a function writes, and roll it back with the rest', async () => {
    const body = 'INSERT INTO hub_beside SELECT generate_series(1, 5) RETURNING 1';
    for (const text of [
      'CREATE TABLE hub_beside (id int)',
      `CREATE FUNCTION hub_beside_filled() RETURNS int LANGUAGE sql AS $$ ${body} $$`,
    ])
      await ask(connection, text, { kind: 'standalone' });
    const write = (rows: number) =>
      ask(connection, `INSERT INTO hub_beside SELECT hub_beside_filled() FROM generate_series(1, ${rows})`, {
        kind: 'write',
        maxAffected: 1,
      });
    const count = async () => (await ask(connection, 'SELECT count(*)::int AS n FROM hub_beside')).data;
    await expect(write(2)).rejects.toMatchObject({ code: 'MAX_AFFECTED' });
    expect(await count()).toEqual([{ n: 0 }]);
    expect((await write(1)).data).toEqual([{ affectedRows: 1 }]);
    expect(await count()).toEqual([{ n: 6 }]);
    for (const text of ['DROP FUNCTION hub_beside_filled()', 'DROP TABLE hub_beside'])
      await ask(connection, text, { kind: 'standalone' });
  });

  it('leaves no prepared statement at the server that the hub does not run', async () => {
    const count = () => value('count(*)::int FROM pg_prepared_statements');
    const before = await count();
    const read = ask(connection, "SELECT 'c'::refcursor AS c");
    await expect(read).rejects.toMatchObject({ code: 'SQL_REJECTED' });
    expect(await count()).toBe(before);
  });

  it('refuses types that nest deep, also if each statement goes on from the types of another', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `nested_${i}`);
    const inner = (i: number) => (i === 0 ? 'int' : names[i - 1]);
    const ddl = (text: string) => ask(connection, text, { kind: 'standalone' });
    for (const [i, name] of names.entries()) await ddl(`CREATE DOMAIN ${name} AS ${inner(i)}[]`);
    try {
      // Each is an array of the one before, so it has two levels more.
      for (const name of names.slice(0, 8)) expect(await value(`NULL::${name}`)).toBe(null);
      await expect(value(`NULL::${names[9]}`)).rejects.toThrow('nest deeper');
      await expect(value(`NULL::${names[9]}`)).rejects.toMatchObject({ code: 'SQL_REJECTED' });
      expect(await value(`NULL::${names[9]}::text`)).toBe(null);
    } finally {
      for (const name of names.toReversed()) await ddl(`DROP DOMAIN ${name}`);
    }
  });
});
