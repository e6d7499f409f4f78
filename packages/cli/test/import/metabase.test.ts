import { describe, expect, it } from 'vitest';
import { Imported } from '../../src/import/imported.ts';
import { importMetabase } from '../../src/import/metabase.ts';
import { readMetabaseFiles } from '../../src/import/metabase-export.ts';

const fields = [
  { id: 12, name: 'created_at', base_type: 'type/DateTime', table: { name: 'orders', schema: 'public' } },
  { id: 13, name: 'region', base_type: 'type/Text', table: { name: 'orders', schema: 'public' } },
];

function convert(
  query: string,
  tags: Record<string, object> = {},
  { engine = 'postgres', more = [] as object[] } = {},
) {
  const into = new Imported('shop');
  const named = Object.fromEntries(Object.entries(tags).map(([name, tag]) => [name, { name, ...tag }]));
  const dataset_query = { type: 'native', database: 1, native: { query, 'template-tags': named } };
  const json = {
    cards: [{ id: 7, name: 'A question', dataset_query }, ...more],
    databases: [{ id: 1, name: 'Main', engine }],
    snippets: [{ id: 1, name: 'big', content: 'amount > 100' }],
    fields,
  };
  importMetabase(readMetabaseFiles([{ name: 'm.json', text: JSON.stringify(json) }]), into, undefined);
  const [{ text, context } = { text: undefined, context: undefined }] = into.queries;
  return {
    text,
    context,
    faults: into.faults.map(({ line, column, detail }) => `${line}:${column} ${detail}`),
    notes: into.notes,
  };
}

const dates = { type: 'dimension', dimension: ['field', 12, null], 'widget-type': 'date/range' };
const regions = {
  type: 'dimension',
  dimension: ['field', 13, { 'base-type': 'type/Text' }],
  'widget-type': 'string/=',
};

describe('importMetabase', () => {
  it.each([
    [
      'WHERE region = {{region}} [[AND amount > {{min}}]]',
      { region: { type: 'text', 'display-name': 'The region', default: 'north' }, min: { type: 'number' } },
      'WHERE region = :region AND ((amount > :min) OR :min IS NULL)',
      [
        { key: 'region', type: 'string', value: 'north', description: 'The region' },
        { key: 'min', type: 'integer', value: null },
      ],
    ],
    [
      'WHERE day >= {{since}} AND id IN ({{ids}}) [[LIMIT {{n}}]]',
      {
        since: { type: 'date', required: true, default: '2026-01-01' },
        ids: { type: 'number', default: ['1,2'] },
        n: { type: 'number' },
      },
      'WHERE day >= :since AND id IN (:ids) LIMIT :n',
      [
        { key: 'since', type: 'date', value: '2026-01-01', required: true },
        { key: 'ids', type: 'integer[]', value: [1, 2] },
        { key: 'n', type: 'integer', value: null },
      ],
    ],
    [
      'WHERE {{created}} [[AND {{region}}]] -- [[AND {{other}}]]',
      { created: { ...dates, default: '2026-01-01~2026-01-31' }, region: { ...regions, default: ['north'] } },
      'WHERE (("public"."orders"."created_at" >= :created_from OR :created_from IS NULL) AND ("public"."orders"."created_at" < :created_to + 1 OR :created_to IS NULL)) AND ((("public"."orders"."region" IN (:region) OR :region IS NULL)) OR :region IS NULL) -- [[AND {{other}}]]',
      [
        { key: 'created_from', type: 'date', value: '2026-01-01' },
        { key: 'created_to', type: 'date', value: '2026-01-31' },
        { key: 'region', type: 'string[]', value: ['north'] },
      ],
    ],
    [
      "WHERE region = [[ {{region}} --]] 'north'\nAND {{snippet: big}}",
      { region: { type: 'text' } },
      "WHERE region = COALESCE(:region, 'north')\nAND amount > 100\n",
      [{ key: 'region', type: 'string', value: null }],
    ],
    [
      'WHERE {{region}}',
      { region: { ...regions, 'widget-type': 'string/!=', alias: 'o.region' } },
      'WHERE (o.region NOT IN (:region) OR o.region IS NULL OR :region IS NULL)',
      [{ key: 'region', type: 'string[]', value: null }],
    ],
  ])('at PostgreSQL: %s', (where, tags, expected, context) => {
    const { text, ...rest } = convert(`SELECT a FROM orders ${where}`, tags as never);
    expect(rest).toMatchObject({ context, faults: [] });
    expect(text).toBe(`SELECT a FROM orders ${expected}`.trimEnd());
  });

  it('writes field filters as MySQL does, with the schema left out', () => {
    expect(convert('SELECT 1 AS a FROM orders WHERE {{d}}', { d: dates }, { engine: 'mysql' }).text).toBe(
      'SELECT 1 AS a FROM orders WHERE ((`orders`.`created_at` >= :d_from OR :d_from IS NULL) AND (`orders`.`created_at` < :d_to + INTERVAL 1 DAY OR :d_to IS NULL))',
    );
  });

  it('puts in the text of another question that has no variables', () => {
    const native = (query: string) => ({ type: 'native', database: 1, native: { query } });
    const more = [
      { id: 3, name: 'All', dataset_query: native('SELECT 1 AS a -- all\n;') },
      { id: 4, name: 'Some', dataset_query: native('SELECT {{a}}') },
    ];
    expect(convert('SELECT * FROM {{#3-all}} AS q', {}, { more }).text).toBe(
      'SELECT * FROM (\nSELECT 1 AS a -- all\n\n) AS q',
    );
    expect(convert('SELECT * FROM {{#4-some}} AS q', {}, { more }).faults).toEqual([
      expect.stringMatching(/^1:15 .* question with variables/),
    ]);
  });

  it.each([
    ["WHERE region = '{{r}}'", { r: { type: 'text' } }, '1:38 Metabase puts quotes around {{r}} itself'],
    [
      'WHERE {{r}}',
      { r: { ...regions, 'widget-type': 'string/contains' } },
      '1:29 The field filter {{r}} is of the kind string/contains',
    ],
    [
      'WHERE {{r}}',
      { r: { ...regions, dimension: ['field', 99, null] } },
      '1:29 The column of the field filter {{r}} is not in the export',
    ],
    ['WHERE {{r}}', { r: { type: 'text' } }, '1:29 {{r}} stands for a condition'],
    ['GROUP BY {{unit}}', { unit: { type: 'temporal-unit' } }, '1:32 {{unit}} stands for a name'],
    ['WHERE 1 = 1 [[AND a = {{a}} OR b = 2]]', { a: { type: 'text' } }, '1:35 Write parentheses'],
    ['WHERE {{snippet: none}}', {}, '1:29 The snippet none is not in the export'],
    [
      'WHERE d = {{d}}',
      { d: { type: 'date', default: 'past30days' } },
      '1:33 The default "past30days" of {{d}} is computed',
    ],
  ])('reports %s', (where, tags, fault) => {
    expect(convert(`SELECT a FROM orders o\n${where}`.replace('\n', ' '), tags as never)).toMatchObject({
      text: undefined,
      faults: [
        expect.stringContaining(
          fault.replace(/^1:(\d+)/, (_, column) => `1:${Number(column) + 1}`).replace(/^/, ''),
        ),
      ],
    });
  });

  it('takes the values of a list, and no value as none', () => {
    const list = { type: 'text', default: ['x', 'y'] };
    expect(convert('SELECT 1 WHERE a IN ({{list}})', { list }).context).toEqual([
      { key: 'list', type: 'string[]', value: ['x', 'y'] },
    ]);
    expect(convert('SELECT 1 WHERE a = {{list}}', { list }).faults).toEqual([
      expect.stringContaining('{{list}} has several values'),
    ]);
    const ids = { type: 'dimension', dimension: ['field', 12, { 'base-type': 'type/Integer' }] };
    const of = (widget: string, values: unknown[]) => ({
      ids: { ...ids, 'widget-type': widget, default: values },
    });
    expect(convert('SELECT 1 WHERE {{ids}}', of('number/=', ['5', 6])).context).toEqual([
      { key: 'ids', type: 'integer[]', value: [5, 6] },
    ]);
    expect(convert('SELECT 1 WHERE {{ids}}', of('number/between', ['5', null])).context).toEqual([
      { key: 'ids_from', type: 'integer', value: 5 },
      { key: 'ids_to', type: 'integer', value: null },
    ]);
    expect(convert('SELECT 1 WHERE {{regions}}', { regions: { ...regions, default: [] } }).context).toEqual([
      { key: 'regions', type: 'string[]', value: null },
    ]);
  });

  it('leaves out an optional part for its own tags only', () => {
    expect(convert('WHERE TRUE [[AND {{snippet: big}}]]')).toMatchObject({
      text: 'WHERE TRUE AND (amount > 100)',
      context: [],
    });
    expect(convert('WHERE TRUE [[AND {{Region}}]]', { region: regions })).toMatchObject({
      text: expect.stringMatching(/ OR :region IS NULL\)$/),
      context: [{ key: 'region' }],
    });
    const { text, context } = convert('WHERE {{day}} AND a = {{day_from}}', {
      day: dates,
      day_from: { type: 'text' },
    });
    expect(text).toContain('AND a = :day_from_2');
    expect(context).toMatchObject([
      { key: 'day_from' },
      { key: 'day_to' },
      { key: 'day_from_2', type: 'string' },
    ]);
  });

  it('keeps databases of one name apart, and takes no question of another', () => {
    const into = new Imported('shop');
    const card = (id: number | undefined, { database = id, query = 'SELECT 1 AS a' } = {}) => ({
      ...{ id, name: `Q${id}` },
      dataset_query: { type: 'native', database, native: { query } },
    });
    const json = {
      cards: [
        ...[card(1), card(2), card(3, { database: 1 })],
        ...[card(4, { database: 2, query: 'SELECT * FROM {{#1}} AS x' })],
        ...[card(undefined, { database: 2 }), card(5, { database: 2, query: 'SELECT * FROM {{#x}} AS x' })],
      ],
      databases: [1, 2].map((id) => ({ id, name: 'Main', engine: 'postgres', details: { host: `db${id}` } })),
    };
    importMetabase(readMetabaseFiles([{ name: 'm.json', text: JSON.stringify(json) }]), into, undefined);
    const { queries, sources } = into.toHub('Shop');
    expect(queries.map(({ source }) => source)).toEqual(['Main', 'Main 2', 'Main', 'Main 2']);
    expect(sources.map(({ label, connectionSettings: { host } }) => [label, host])).toEqual([
      ['Main', 'db1'],
      ['Main 2', 'db2'],
    ]);
    expect(into.faults.map(({ detail }) => detail)).toEqual([
      expect.stringContaining('{{#1}} is a question of another database'),
      expect.stringContaining('{{#x}} is a question that is not in the export'),
    ]);
    expect(into.failed).toBe(2);
  });

  it('reads serialized questions with their collections, and names the line in the file', () => {
    const into = new Imported('shop');
    const card = `name: Orders
entity_id: c1
collection_id: deep
dataset_query:
  database: Shop
  lib/type: mbql/query
  stages:
  - lib/type: mbql.stage/native
    native: |-
      SELECT id
      FROM orders
      WHERE region = {{region}}
    template-tags:
      region: {name: region, type: text}
serdes/meta:
- {id: c1, model: Card}
`;
    const broken = card.replace('= {{region}}', '{{region}}').replaceAll('c1', 'c2');
    const collection = (id: string, name: string, parent: string) =>
      `name: ${name}\nentity_id: ${id}\nparent_id: ${parent}\nserdes/meta:\n- {id: ${id}, model: Collection}\n`;
    const files = [
      { name: 'a.yaml', text: card },
      { name: 'b.yaml', text: broken },
      { name: 'top.yaml', text: collection('top', 'Sales', 'null') },
      { name: 'deep.yaml', text: collection('deep', 'Deep', 'top') },
      {
        name: 'mbql.yaml',
        text: 'name: M\nentity_id: m\ndataset_query: {type: query, query: {}}\nserdes/meta:\n- {id: m, model: Card}\n',
      },
    ];
    importMetabase(readMetabaseFiles(files), into, 'mysql');
    expect(into.toHub('Shop')).toMatchObject({
      folders: [['Sales'], ['Sales', 'Deep']],
      sources: [{ label: 'Shop', engine: 'mysql' }],
      queries: [
        { path: 'orders', folder: ['Sales', 'Deep'], text: 'SELECT id\nFROM orders\nWHERE region = :region' },
      ],
    });
    expect(into.faults.map(({ file, line }) => `${file}:${line}`)).toEqual(['b.yaml:12', 'mbql.yaml:1']);
  });
});
