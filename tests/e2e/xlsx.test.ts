import { randomBytes } from 'node:crypto';
import { describe, expect, inject, it } from 'vitest';
import { canReadXlsx, readXlsx } from '../../tools/xlsx-reader.ts';
import { operateOn } from '../support/databases.ts';
import { api, createSource, database, engines } from '../support/hub.ts';

const accept = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

async function store(engine: string, query: string): Promise<string> {
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'xlsx' }));
  const sourceId = await createSource(hubId, engine);
  const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query }));
  return config.query.queryId;
}

function execute(queryId: string, options: object = {}): Promise<Response> {
  const { url, key } = inject('hub');
  const headers = { 'x-service-api-key': key, accept, 'content-type': 'application/json' };
  const body = JSON.stringify({ queryId, options });
  return fetch(`${url}/v1/queries/execute`, { method: 'POST', headers, body });
}

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
const general = 'General';

describe.runIf(canReadXlsx()).each(engines.filter((engine) => engine !== 'mongodb'))(
  'XLSX from %s',
  (engine) => {
    it('has cells of the types of the columns, and no number that a spreadsheet would round', async () => {
      const [int, time] = engine === 'postgres' ? ['bigint', 'timestamp'] : ['signed', 'datetime(6)'];
      const columns = [
        `CAST(999999999999999 AS ${int}) AS most`,
        `CAST(9007199254740993 AS ${int}) AS id`,
        'CAST(12.50 AS decimal(20, 2)) AS price',
        'CAST(123456789012345678.90 AS decimal(20, 2)) AS total',
        "CAST('2024-02-29' AS date) AS day",
        "CAST('1899-12-31' AS date) AS old",
        "CAST('0026-11-20' AS date) AS ancient",
        `CAST('2026-11-28 03:04:05.250' AS ${time}) AS at`,
        `CAST('9999-12-31 23:59:59' AS ${time}) AS last`,
        `CAST('9999-12-31 23:59:59.999999' AS ${time}) AS forever`,
        'NULL AS none',
        "'' AS blank",
        "'=1+1' AS formula",
      ];
      const response = await execute(await store(engine, `SELECT ${columns.join(', ')}`));
      expect(response.headers.get('content-type')).toBe(accept);
      const [[name, [head, row]]] = readXlsx(await bytesOf(response)) as any;
      expect(name).toBe('Rows');
      expect(head.map(([, value]: string[]) => value)).toEqual(
        columns.map((column) => column.split(' AS ').at(-1)),
      );
      expect(row).toEqual([
        ['n', '999999999999999', general],
        ['s', '9007199254740993', general],
        ['n', '12.5', general],
        ['s', '123456789012345678.90', general],
        ['d', '2024-02-29 00:00:00', 'yyyy\\-mm\\-dd'],
        ['s', '1899-12-31', general],
        ['s', '0026-11-20', general],
        ['d', '2026-11-28 03:04:05.250000', 'yyyy\\-mm\\-dd\\ hh:mm:ss.000'],
        ['d', '9999-12-31 23:59:59', 'yyyy\\-mm\\-dd\\ hh:mm:ss'],
        ['s', '9999-12-31T23:59:59.999999', general],
        ['n', 'None', general],
        ['s', '', general],
        ['s', '=1+1', general],
      ]);
    });
  },
);

describe.runIf(canReadXlsx()).each(engines.filter((engine) => ['mysql', 'mariadb'].includes(engine)))(
  'XLSX from %s',
  (engine) => {
    it('keeps dates without a month or a day as texts', async () => {
      const table = `unknown_days_${randomBytes(4).toString('hex')}`;
      await operateOn(database(engine), engine, [
        "SET sql_mode = 'ALLOW_INVALID_DATES'",
        `CREATE TABLE ${table} (d date, dt datetime)`,
        `INSERT INTO ${table} VALUES ('2026-12-00', '2026-00-00 10:00:00'), ('2026-02-31', '2026-02-31 10:00:00')`,
      ]);
      try {
        const queryId = await store(engine, `SELECT d, dt FROM ${table} ORDER BY d DESC`);
        const [[, [, ...rows]]] = readXlsx(await bytesOf(await execute(queryId))) as any;
        expect(rows).toEqual([
          [
            ['s', '2026-12-00', general],
            ['s', '2026-00-00T10:00:00.000', general],
          ],
          [
            ['s', '2026-02-31', general],
            ['s', '2026-02-31T10:00:00.000', general],
          ],
        ]);
      } finally {
        await operateOn(database(engine), engine, [`DROP TABLE ${table}`]);
      }
    });
  },
);

describe.runIf(canReadXlsx() && engines.includes('postgres'))('XLSX', () => {
  it('keeps numbers as texts that a spreadsheet would read as 0', async () => {
    const query =
      'SELECT 1e-400::numeric AS n, 1e-310::float8 AS f, 0e-400::numeric AS zero, 1e-300::float8 AS small';
    const [[, [, row]]] = readXlsx(await bytesOf(await execute(await store('postgres', query)))) as any;
    expect(row).toEqual([
      ['s', `0.${'0'.repeat(399)}1`, general],
      ['s', '1e-310', general],
      ['n', '0.0', general],
      ['n', '1e-300', general],
    ]);
  });

  it('has booleans, doubles with all digits, and texts as they are', async () => {
    const texts = ['a<b>&"c\'', ' blanks ', 'two\nlines', 'Zürich 東京 🙂'];
    const escaped = ['\r', '\x01', '_x0041_', '_x004', '\uffff'];
    const shown = ['_x000D_', '_x0001_', '_x005F_x0041_', '_x004', '_xFFFF_'];
    const literals = [...texts, ...escaped].map((text) => `(U&'${[...text].map(toEscape).join('')}')`);
    const query = `SELECT true AS yes, 0.1::float8 + 0.2::float8 AS sum, 'NaN'::float8 AS nan, t FROM (VALUES ${literals.join(', ')}) AS v (t)`;
    const [[, rows]] = readXlsx(await bytesOf(await execute(await store('postgres', query)))) as any;
    for (const row of rows.slice(1))
      expect(row.slice(0, 3)).toEqual([
        ['b', 'True', general],
        ['n', '0.30000000000000004', general],
        ['s', 'NaN', general],
      ]);
    expect(rows.slice(1).map((row: string[][]) => row[3]?.[1])).toEqual([...texts, ...shown]);
  });

  it('says in the name of the sheet that a limit cut the rows, and can have none', async () => {
    const queryId = await store('postgres', 'SELECT n FROM generate_series(1, 30) AS n');
    const [[name, rows]] = readXlsx(await bytesOf(await execute(queryId, { maxRows: 5 }))) as any;
    expect(name).toBe('Rows, cut after 5');
    expect(rows.length).toBe(6);
    const empty = await store('postgres', 'SELECT 1 AS one WHERE false');
    expect(readXlsx(await bytesOf(await execute(empty)))).toEqual([['Rows', [[['s', 'one', general]]]]]);
  });
});

/** Each UTF-16 unit as PostgreSQL writes it. */
const toEscape = (character: string) =>
  `\\+${(character.codePointAt(0) as number).toString(16).padStart(6, '0')}`;
