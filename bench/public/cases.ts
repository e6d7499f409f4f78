/**
 * The seven cases of the public benchmark of NpgsqlRest (github.com/NpgsqlRest/pg_function_load_tests), as statements of
 * our own: rows with many types, the smallest answer, a body, nested JSON, a large value, and many parameters. All of them
 * compute their rows in memory, so the database does the same work for each contender.
 */

export interface Case {
  name: string;
  /** Variables as `:name`, each with a cast. */
  sql: string;
  values: Record<string, string | object>;
  method: 'GET' | 'POST';
  rows: number;
}

const types = `SELECT i AS row_number, CAST(:text AS text) || i AS text_value,
  lpad(CAST(i AS text), 10, '0') AS padded, CAST(i % 100 AS smallint) AS small_value,
  CAST(:whole AS int) + i AS int_value, CAST(:big AS bigint) + i AS big_value,
  CAST(CAST(:exact AS numeric) + i AS numeric(12, 4)) AS exact_value,
  CAST(CAST(:float AS double precision) + i AS real) AS real_value,
  CAST(:float AS double precision) + i AS double_value, i % 2 = 0 AS even,
  CAST(:day AS date) + i AS day, time '12:00' + i * interval '1 minute' AS minute,
  CAST(:moment AS timestamp) + i * interval '1 hour' AS moment,
  CAST(:zoned AS timestamptz) + i * interval '1 hour' AS zoned, i * interval '1 day' AS days,
  CAST(:id AS uuid) AS id, json_build_object('i', i) AS json_value, jsonb_build_object('row', i) AS jsonb_value,
  ARRAY[1, 2, i] AS numbers, ARRAY[CAST(:text AS text), CAST(i AS text)] AS texts,
  CASE WHEN i % 2 = 1 THEN CAST(:text AS text) END AS text_or_null, CASE WHEN i % 2 = 1 THEN i END AS int_or_null
FROM generate_series(1, CAST(:records AS int)) AS i`;

const typeValues = {
  text: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  whole: '1234567890',
  big: '9223372036854770000',
  exact: '12345.6789',
  float: '123456.789012',
  day: '2026-01-15',
  moment: '2026-01-15T10:30:00',
  zoned: '2026-01-15T10:30:00Z',
  id: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
};

const parameterTypes = ['text', 'int', 'boolean', 'numeric', 'text'];
const parameterValues = ['a text', '123', 'true', '123.456', 'another text'];
const parameters = Array.from({ length: 20 }, (_, i) => ({
  name: `p${i + 1}`,
  type: parameterTypes[i % parameterTypes.length] as string,
  value: parameterValues[i % parameterValues.length] as string,
}));

export const cases: readonly Case[] = [
  { name: 'minimal', sql: `SELECT 'ok' AS status, now() AS at`, values: {}, method: 'GET', rows: 1 },
  { name: 'types10', sql: types, values: { ...typeValues, records: '10' }, method: 'GET', rows: 10 },
  { name: 'types100', sql: types, values: { ...typeValues, records: '100' }, method: 'GET', rows: 100 },
  {
    name: 'post',
    sql: `SELECT i AS row_number, CAST(:payload AS jsonb) AS echo, 'row ' || i AS computed
FROM generate_series(1, CAST(:records AS int)) AS i`,
    values: { payload: { test: 'value', list: [1, 2, 3] }, records: '10' },
    method: 'POST',
    rows: 10,
  },
  {
    name: 'nested',
    sql: `SELECT i AS row_number, jsonb_build_object('a', jsonb_build_object('b', jsonb_build_object('c', i))) AS nested
FROM generate_series(1, CAST(:records AS int)) AS i`,
    values: { records: '100' },
    method: 'GET',
    rows: 100,
  },
  {
    name: 'large',
    sql: `SELECT repeat('x', CAST(:kilobytes AS int) * 1024) AS data`,
    values: { kilobytes: '100' },
    method: 'GET',
    rows: 1,
  },
  {
    name: 'parameters',
    sql: `SELECT ${parameters.map(({ name, type }) => `CAST(:${name} AS ${type}) AS ${name}`).join(', ')}`,
    values: Object.fromEntries(parameters.map(({ name, value }) => [name, value])),
    method: 'GET',
    rows: 1,
  },
];

/** The statement with `$1, $2, …`, and the names in this order. */
export function numbered(sql: string): { text: string; names: string[] } {
  const names: string[] = [];
  const text = sql.replace(/:([a-z]\w*)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { text, names };
}

/** As the parameters of an address: objects as JSON. */
export const toQuery = (values: Case['values']): string =>
  new URLSearchParams(
    Object.entries(values).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  ).toString();
