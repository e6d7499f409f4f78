import { describe, expect, it } from 'vitest';
import { ExactNumber } from '../../src/exact-numbers.ts';
import { Imported } from '../../src/import/imported.ts';
import { importNpgsqlRest } from '../../src/import/npgsqlrest.ts';

function convert(text: string, name = 'sql/get-reports.sql') {
  const into = new Imported('shop');
  importNpgsqlRest([{ name, text }], into, 'sql');
  return {
    query: into.queries[0],
    faults: into.faults.map(({ line, detail }) => `${line} ${detail}`),
    notes: into.notes.map(({ detail }) => detail),
  };
}

describe('importNpgsqlRest', () => {
  it('reads the annotations of a file', () => {
    const text = `-- HTTP GET /api/reports/{id}
-- @authorize admin
-- @param $1 region text default null
-- @param $2 since
-- @param since default '2026-01-01'
-- @param $3 span daterange
-- @cached region
-- @cache_expires_in 5m
-- @mcp Reports of a region
select id from reports where (region = $1 or $1 is null) and at > $2::date and span && $3;`;
    const { query, faults, notes } = convert(text);
    expect(faults).toEqual([]);
    expect(query).toMatchObject({
      path: 'reports',
      label: 'Reports',
      command: 'SELECT',
      cache: { maxAgeS: 300 },
      tool: { description: 'Reports of a region' },
      context: [
        { key: 'region', type: 'string', value: null },
        { key: 'since', type: 'date', value: '2026-01-01' },
        { key: 'span', required: true },
      ],
    });
    expect(query?.text).toContain(
      '(region = :region or :region is null) and at > :since::date and span && :span::daterange',
    );
    expect(notes).toEqual([
      expect.stringContaining('/api/reports/{id}'),
      expect.stringContaining('roles admin'),
    ]);
  });

  it('takes the path of the file, named placeholders, and nothing of quotes', () => {
    expect(
      convert("-- @param :id int\nupdate t set a = ':b' where id = :id returning x[1:2], y::text").query,
    ).toMatchObject({
      path: 'get-reports',
      command: 'UPDATE',
      text: "-- @param :id int\nupdate t set a = ':b' where id = :id returning x[1:2], y::text",
      context: [{ key: 'id', type: 'integer', required: true }],
    });
  });

  it('calls functions whose comments are annotated', () => {
    const text = `create or replace function app.get_users(_active boolean default true, _span daterange = null, out n int)
returns int language sql as $$ select 1 $$;
comment on function app.get_users(boolean, daterange) is 'HTTP GET /api/users
@cached
@mcp It''s the list
@cache_expires 1h';
create procedure app.clean(_before date, out n int) language sql as $$ delete from t $$;
comment on procedure app.clean is 'HTTP POST';
create function app.inner() returns int language sql as $$ select 1 $$;`;
    const into = new Imported('shop');
    importNpgsqlRest([{ name: 'f.sql', text }], into, '');
    expect(into.faults).toEqual([]);
    expect(into.queries).toMatchObject([
      {
        path: 'users',
        command: 'SELECT',
        cache: { maxAgeS: 3600 },
        tool: { description: "It's the list" },
        text: 'SELECT * FROM app.get_users(_active => :active, _span => :span::daterange)',
        context: [
          { key: 'active', type: 'boolean', value: true },
          { key: 'span', value: null },
        ],
      },
      {
        path: 'clean',
        command: 'CALL',
        text: 'CALL app.clean(_before => :before, n => NULL)',
        context: [{ key: 'before', type: 'date', required: true }],
      },
    ]);
  });

  it.each([
    ["int[] default '{}'::int[]", { type: 'integer[]', value: [] }],
    ['boolean default TRUE', { type: 'boolean', value: true }],
    ["boolean = 'f'::boolean", { type: 'boolean', value: false }],
    ['bigint default 5::bigint', { type: 'bigint', value: 5 }],
    [`json default '{"a": 1.50}'::json`, { type: 'json', value: { a: new ExactNumber('1.50') } }],
    ["text default 'it''s'::text", { type: 'string', value: "it's" }],
  ])('takes the default of %s', (parameter, traits) => {
    const text = `create function f(_a ${parameter}) returns int language sql as 'select 1';\ncomment on function f is 'HTTP GET';`;
    expect(convert(text)).toMatchObject({ query: { context: [{ key: 'a', ...traits }] }, faults: [] });
  });

  it('finds names in quotes and comments with escapes, and reports a comment without its function', () => {
    const text = `create function "getUser"(_id int) returns int language sql as $$ select 1 $$;
comment on function "getUser"(int) is 'HTTP GET /user';
create function "Odd Schema".g() returns int language sql as $$ select 1 $$;
comment on function "Odd Schema".G() is E'HTTP GET\\n@cached\\n@mcp';
comment on function app.nobody(int) is 'HTTP GET';`;
    const into = new Imported('shop');
    importNpgsqlRest([{ name: 'f.sql', text }], into, '');
    expect(into.queries.map(({ path, text }) => [path, text])).toEqual([
      ['user', 'SELECT * FROM "getUser"(_id => :id)'],
      ['g', 'SELECT * FROM "Odd Schema".g()'],
    ]);
    expect(into.faults.map(({ line, detail }) => [line, detail])).toEqual([
      [5, 'The file has no CREATE of app.nobody, so its parameters are not known.'],
    ]);
    expect(into.notes).toHaveLength(2);
  });

  it('takes the annotations of each function, and reports those that cannot be queries', () => {
    const each = (name: string, parameter: string, lines: string) =>
      `create function public.${name}(${parameter}) returns int language sql as 'select 1';\ncomment on function ${name} is 'HTTP GET\n${lines}';\n`;
    const text =
      each('a', '_x date default now()', '') +
      each('b', 'inout _x int', 'requiresauthorization admin\ncacheexpiresin 5 min\nconnection replica') +
      each('c', '', 'disabled') +
      each('d', '_x text', 'bodyparametername _x') +
      each('e', '_x int', '') +
      each('e', '_x text', '') +
      each('g', "_x int[] default '{1}'", '') +
      each('h', '', 'path /b') +
      each('i', '', 'for immutable\ncached');
    const { query, faults, notes } = convert(text);
    expect(query).toMatchObject({
      path: 'b',
      text: 'SELECT * FROM public.b(_x => :x)',
      cache: { maxAgeS: 300 },
    });
    expect(notes).toEqual([
      expect.stringContaining('roles admin'),
      expect.stringContaining('It ran at the connection replica'),
      'Another query has the path b. Here it is b-2.',
    ]);
    expect(faults).toEqual([
      expect.stringContaining('now() of _x is computed'),
      expect.stringContaining('The endpoint is disabled'),
      expect.stringContaining('@bodyparametername needs the whole body'),
      ...['15', '18'].map((line) =>
        expect.stringMatching(`^${line} Several functions have the name public.e`),
      ),
      expect.stringContaining('of a list is not converted'),
      expect.stringContaining('Its annotations depend on tags'),
    ]);
  });

  const orders = `create function get_orders(_user_id text, _email text = null) returns setof orders language sql as 'select 1';
comment on function get_orders is 'HTTP GET
@authorize';`;
  const mine = '-- HTTP GET\n-- @authorize\nselect id from orders where owner = :_user_id';
  const withSettings = (text: string, settings: string | undefined) => {
    const into = new Imported('shop');
    const files = settings === undefined ? [] : [{ name: 'app/appsettings.json', text: settings }];
    importNpgsqlRest([...files, { name: 'sql/orders.sql', text }], into, '');
    return {
      queries: into.queries.length,
      details: [...into.faults, ...into.notes].map(({ detail }) => detail),
    };
  };
  const on = '"UseUserParameters": true';

  it.each([
    ['a function', orders, `{"NpgsqlRest": {"AuthenticationOptions": {${on}}}}`, ['_user_id']],
    ['a file', mine, `{"NpgsqlRest": {"AuthenticationOptions": {${on}}}}`, ['_user_id']],
    [
      'names of its own',
      orders,
      `{ // comments and commas\n"npgsqlrest": {"AuthenticationOptions": {${on}, "ParameterNameClaimsMapping": {"_email": "email",},}},}`,
      ['_email'],
    ],
    ['a path', mine, '{"NpgsqlRest:AuthenticationOptions:UseUserParameters": "{USE}"}', ['_user_id']],
    ['what cannot be read', mine, '{"NpgsqlRest": ', ['_user_id']],
    ['no configuration', mine, undefined, ['UseUserParameters. Add appsettings.json']],
  ])('reports parameters that the configuration fills from claims: %s', (_, text, settings, named) => {
    const { queries, details } = withSettings(text, settings);
    expect(queries).toBe(0);
    expect(details.filter((detail) => detail.startsWith('NpgsqlRest fills'))).toEqual(
      named.map((name) => expect.stringContaining(name)),
    );
  });

  it('leaves them to the caller if NpgsqlRest does', () => {
    expect(
      withSettings(orders, '{"NpgsqlRest": {"AuthenticationOptions": {"UseUserContext": true}}}'),
    ).toEqual({
      queries: 1,
      details: [expect.stringContaining('Set session'), expect.stringContaining('a signed-in user')],
    });
  });

  it('reports parameters with the value of an expression or of a request', () => {
    const text = `create function f(_company int, _id int, _answer public.weather) returns int language sql as 'select 1';
comment on function f is 'HTTP GET
_company = company_of({_id})';
comment on type weather is 'GET https://weather.example/{_id}';`;
    expect(convert(text)).toMatchObject({
      query: undefined,
      faults: [
        expect.stringContaining('A parameter that NpgsqlRest resolves'),
        expect.stringContaining('fills _answer with the answer of a request'),
      ],
    });
  });

  it.each([
    ['-- @internal\nselect 1', '1 The endpoint is internal'],
    ['-- @company = company_of({id})\nselect :company, :id', '1 A parameter that NpgsqlRest resolves'],
    ['-- @param $1 a boolean default perhaps\nselect $1', '2 The default perhaps is neither true nor false'],
    ['-- @user_parameters\nselect :_user_id', '1 @user_parameters needs claims'],
    ['-- HTTP POST\nselect 1;\nselect 2', '2 There are several statements'],
    ['-- @param $1 h is hash of p\nselect $1', '1 @param $1 h is hash of p needs a value'],
    ['-- _token = select t from tokens\nselect :_token', '1 A parameter that NpgsqlRest resolves'],
    ['-- HTTP POST\ndo $$ begin end $$', '1 A statement DO is no query'],
  ])('reports %s', (text, fault) => {
    expect(convert(text)).toMatchObject({ query: undefined, faults: [expect.stringContaining(fault)] });
  });
});
