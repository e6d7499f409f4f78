import { describe, expect, it } from 'vitest';
import { Imported } from '../../src/import/imported.ts';
import { importRedash, readRedashFiles } from '../../src/import/redash.ts';

const sources = [
  {
    id: 1,
    name: 'Main',
    type: 'pg',
    options: { host: 'db', port: 5433, dbname: 'shop', sslmode: 'require', password: '--------' },
  },
  { id: 2, name: 'Wares', type: 'rds_mysql', options: { host: 'my', db: 'wares' } },
  { id: 3, name: 'Clicks', type: 'bigquery', options: null },
];

/** What one query becomes, or why it does not. */
function convert(query: string, parameters: object[] = [], { of = 1, options = {} } = {}) {
  const into = new Imported('shop');
  const json = {
    queries: [{ id: 7, name: 'A query', query, data_source_id: of, options: { parameters, ...options } }],
    data_sources: sources,
  };
  importRedash(readRedashFiles([{ name: 'r.json', text: JSON.stringify(json) }]), into, undefined);
  const [{ text, context } = { text: undefined, context: undefined }] = into.queries;
  return {
    text,
    context,
    faults: into.faults.map(({ line, column, detail }) => `${line}:${column} ${detail}`),
    notes: into.notes,
    into,
  };
}

const region = { name: 'region', title: 'Region', type: 'enum', enumOptions: 'north\nsouth', value: 'north' };

describe('importRedash', () => {
  it.each([
    [
      "WHERE region = '{{ region }}'",
      [region],
      'WHERE region = :region',
      [{ key: 'region', enum: ['north', 'south'], value: 'north', description: 'Region' }],
    ],
    [
      "WHERE at BETWEEN '{{r.start}}' AND '{{r.end}} 23:59:59'",
      [{ name: 'r', type: 'date-range', value: { start: '2026-01-01', end: '2026-01-31' } }],
      "WHERE at BETWEEN :r_start AND CAST(CONCAT(:r_end, ' 23:59:59') AS timestamp)",
      [
        { key: 'r_start', type: 'date', value: '2026-01-01' },
        { key: 'r_end', type: 'string', value: '2026-01-31' },
      ],
    ],
    [
      'WHERE amount > {{ n }} LIMIT {{n}}',
      [{ name: 'n', type: 'number', value: '5' }],
      'WHERE amount > :n LIMIT :n',
      [{ key: 'n', type: 'integer', value: 5 }],
    ],
    [
      'WHERE amount > {{n}}',
      [{ name: 'n', type: 'number', value: 0.5 }],
      'WHERE amount > :n',
      [{ key: 'n', type: 'decimal', value: 0.5 }],
    ],
    [
      'WHERE id IN ({{ids}})',
      [{ name: 'ids', type: 'text', value: '1, 2' }],
      'WHERE id IN (:ids)',
      [{ key: 'ids', type: 'integer[]', value: [1, 2] }],
    ],
    [
      'WHERE region IN ({{region}})',
      [{ ...region, value: ['north'], multiValuesOptions: { prefix: "'", suffix: "'", separator: ',' } }],
      'WHERE region IN (:region)',
      [{ key: 'region', enum: ['north', 'south'], value: ['north'], description: 'Region' }],
    ],
    [
      "WHERE at > now() - interval '{{d}} days'",
      [{ name: 'd', type: 'number', value: 7 }],
      "WHERE at > now() - CAST(CONCAT(:d, ' days') AS interval)",
      [{ key: 'd', type: 'integer', value: 7 }],
    ],
    [
      "WHERE n LIKE '%{{{q}}}%'",
      [],
      "WHERE n LIKE CONCAT('%', :q, '%')",
      [{ key: 'q', type: 'string', required: true }],
    ],
    [
      "WHERE day = to_date('{{d}}', 'YYYY')",
      [{ name: 'd', type: 'date', value: '2026-01-01' }],
      "WHERE day = to_date(:d, 'YYYY')",
      [{ key: 'd', value: '2026-01-01' }],
    ],
  ])('at PostgreSQL: %s', (where, parameters, expected, context) => {
    expect(convert(`SELECT a FROM t ${where}`, parameters)).toMatchObject({
      text: `SELECT a FROM t ${expected}`,
      context,
      faults: [],
    });
  });

  it('keeps the type of quotes at MySQL, and the name of a column without one at PostgreSQL', () => {
    expect(convert("SELECT a FROM t WHERE region = '{{region}}'", [region], { of: 2 }).context).toMatchObject(
      [{ key: 'region', type: 'string' }],
    );
    expect(convert("SELECT '{{region}}', {{n}} FROM t", [region]).text).toBe(
      'SELECT :region AS "?column?", :n AS "?column?" FROM t',
    );
    expect(convert("SELECT '{{region}}'", [region], { of: 2 }).faults).toEqual([
      '1:8 The column is named after its value. Give it a name with AS.',
    ]);
  });

  it.each([
    ['SELECT a FROM {{t}}', [], '1:15 {{t}} stands for a name, which no value can be.'],
    [
      'SELECT a FROM t ORDER BY a {{way}}',
      [{ name: 'way', type: 'enum', enumOptions: 'asc\ndesc' }],
      '1:28 {{way}} stands for a name',
    ],
    [
      'SELECT a FROM t WHERE b = {{c}}',
      [{ name: 'c', type: 'text', value: 'lower(d)' }],
      '1:27 The value of {{c}} is SQL',
    ],
    [
      'SELECT a FROM t WHERE b > {{d}}',
      [{ name: 'd', type: 'date', value: '2026-01-01' }],
      '1:27 A date without quotes is a subtraction.',
    ],
    ['SELECT a FROM t\n{{#x}}WHERE b', [], '2:1 {{#x}} is a section of Mustache.'],
    [
      'SELECT a / {{n}} FROM t',
      [{ name: 'n', type: 'number', value: 0.5 }],
      '1:12 A number with a fraction stands beside a division',
    ],
    [
      "SELECT a FROM t WHERE d < '{{d}} 23:59:59'",
      [{ name: 'd', type: 'date' }],
      '1:27 The time in this text would be cut off',
    ],
    ['SELECT a FROM t WHERE "{{c}}" = 1', [], '1:23 A name, or a text in these quotes'],
    ['SELECT 1; SELECT 2', [], '1:9 There are several statements.'],
  ])('reports %s', (query, parameters, fault) => {
    expect(convert(query, parameters)).toMatchObject({
      text: undefined,
      faults: [expect.stringContaining(fault)],
    });
  });

  it('keeps "Limit 1000", unless the text has a limit of its own', () => {
    const options = { apply_auto_limit: true };
    expect(convert('SELECT a FROM (SELECT 1 LIMIT 1) t;', [], { options }).text).toBe(
      'SELECT a FROM (SELECT 1 LIMIT 1) t\nLIMIT 1000',
    );
    expect(convert('SELECT a FROM t LIMIT 5', [], { options }).text).toBe('SELECT a FROM t LIMIT 5');
    for (const text of [
      'WITH t AS (SELECT 1) SELECT * FROM t',
      '-- all\nSELECT a FROM t',
      '(SELECT a FROM t)',
    ])
      expect(convert(text, [], { options }).text).toBe(text);
  });

  it('does not compare a text with a number', () => {
    const n = [{ name: 'n', type: 'number', value: 5 }];
    const places = ['a = {{n}}', "b = '{{n}}'"];
    for (const text of [places.join(' OR '), places.reverse().join(' OR ')]) {
      expect(convert(`SELECT 1 AS x FROM t WHERE ${text}`, n, { of: 2 }).faults).toEqual([
        expect.stringContaining('{{n}} is a number without quotes and a text with them'),
      ]);
      expect(convert(`SELECT 1 AS x FROM t WHERE ${text}`, n)).toMatchObject({
        context: [{ key: 'n', type: 'integer', value: 5 }],
        faults: [],
      });
    }
  });

  it('notes defaults that Redash computes, and schedules', () => {
    const { context, notes } = convert("SELECT a FROM t WHERE d = '{{d}}'", [
      { name: 'd', type: 'date', value: 'd_now' },
    ]);
    expect(context).toEqual([{ key: 'd', type: 'date', required: true }]);
    expect(notes).toEqual([{ file: 'r.json#7', detail: expect.stringContaining('d_now') }]);
  });

  it('makes sources without secrets, folders of tags, and reports other engines and archived queries', () => {
    const into = new Imported('shop');
    const query = { query: 'SELECT 1 AS a', options: {} };
    const results = [
      { ...query, id: 1, name: 'A', data_source_id: 1, tags: ['sales', 'x'] },
      { ...query, id: 2, name: 'A', data_source_id: 1 },
      { ...query, id: 3, name: 'C', data_source_id: 3 },
      { ...query, id: 4, name: 'D', data_source_id: 1, is_archived: true },
    ];
    const files = [
      { name: 'page.json', text: JSON.stringify({ count: 4, results }) },
      { name: 'sources.json', text: JSON.stringify(sources) },
      { name: 'query_9.sql', text: '/*\nName: Old one\nData source: 2\n*/\nSELECT {{#a}}' },
    ];
    importRedash(readRedashFiles(files), into, undefined);
    const hub = into.toHub('Shop');
    expect(hub.queries.map(({ path, folder, source }) => [path, folder, source])).toEqual([
      ['a', ['sales'], 'Main'],
      ['a-2', [], 'Main'],
    ]);
    expect(hub.sources).toEqual([
      {
        label: 'Main',
        engine: 'postgres',
        connectionSettings: {
          ...{ host: 'db', port: 5433, database: 'shop', tls: { mode: 'require' } },
          ...{ user: `\${env:SHOP_MAIN_USER}`, password: `\${env:SHOP_MAIN_PASSWORD}` },
        },
      },
    ]);
    expect(into.faults.map(({ file, line }) => `${file}:${line}`)).toEqual([
      'page.json#3:1',
      'page.json#4:1',
      'query_9.sql:5',
    ]);
  });
});
