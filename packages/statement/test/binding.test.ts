import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileStatement, type Dialect } from '../src/compile.ts';
import { untypedText } from '../src/sql/untyped.ts';

const compile = (text: string, dialect: Dialect = 'postgres', types: Record<string, string> = {}) =>
  compileStatement(text, {
    dialect,
    command: 'SELECT',
    variables: Object.entries(types).map(([key, type]) => ({ key, type })),
  });

const bind = (text: string, context: object, dialect: Dialect = 'postgres', types = {}) =>
  compile(text, dialect, types).bind({ pinnedJson: '', contextJson: JSON.stringify(context) });

describe('a declared type', () => {
  it.each([
    ['string', 'text', 'a'],
    ['integer', 'integer', 1],
    ['bigint', 'bigint', 1],
    ['number', 'double precision', 1.5],
    ['decimal', 'numeric', '1.5'],
    ['boolean', 'boolean', true],
    ['date', 'date', '2026-01-01'],
    ['timestamp', 'timestamptz', '2026-01-01'],
    ['uuid', 'uuid', '0e37df36-f698-11e6-8dd4-cb9ced3df976'],
    ['json', 'jsonb', 1],
  ])('%s is a cast to %s on PostgreSQL, and nothing on MySQL', (type, cast, value) => {
    const text = 'SELECT :x';
    expect(bind(text, { x: value }, 'postgres', { x: type }).text).toBe(`SELECT $1::${cast}`);
    expect(bind(text, { x: null }, 'postgres', { x: type }).text).toBe(`SELECT $1::${cast}`);
    expect(bind(text, { x: [value] }, 'postgres', { x: `${type}[]` }).text).toBe(`SELECT $1::${cast}[]`);
    expect(bind(text, { x: null }, 'postgres', { x: `${type}[]` }).text).toBe(`SELECT $1::${cast}[]`);
    expect(bind(text, { x: value }, 'mysql', { x: type }).text).toBe('SELECT ?');
  });

  it.each(['postgres', 'mysql'] as const)('integer is bound by its digits on %s', (dialect) => {
    const params = (types: Record<string, string>, contextJson: string) =>
      compile('SELECT :x', dialect, types).bind({ pinnedJson: '', contextJson }).params;
    for (const [written, bound] of [
      ['1.0', 1],
      ['1e3', 1000],
      ['-0', 0],
      ['-20.00', -20],
    ]) {
      expect(params({ x: 'integer' }, `{"x":${written}}`)).toEqual([bound]);
      expect(params({}, `{"x":${written}}`)).toEqual([dialect === 'postgres' ? written : bound]);
      const list = dialect === 'postgres' ? `{"${bound}"}` : `[${written}]`;
      expect(params({ x: 'integer[]' }, `{"x":[${written}]}`)).toEqual([list]);
    }
  });

  it('that is unknown or absent gives no cast', () => {
    expect(bind('SELECT :x, :y', { x: 1, y: [1] }, 'postgres', { x: 'colour' }).text).toBe('SELECT $1, $2');
  });

  it('JSON binds an array as one value', () => {
    expect(bind('SELECT :x', { x: [1, 'a'] }, 'postgres', { x: 'json' })).toMatchObject({
      text: 'SELECT $1::jsonb',
      params: ['[1,"a"]'],
    });
  });
});

describe('values', () => {
  const values =
    '{"n":1,"d":1.10,"s":"a","b":true,"z":null,"o":{"k":1.10},"l":[1,1.10,"a\\"\\\\",null,true,{"k":1}]}';
  const text = 'SELECT :n, :d, :s, :b, :z, :o, :l';
  const bindJson = (dialect: Dialect) => compile(text, dialect).bind({ pinnedJson: '', contextJson: values });

  it('are bound with their JSON types', () => {
    const list = '[1,1.10,"a\\"\\\\",null,true,{"k":1}]';
    const params = (decimal: unknown) => [1, decimal, 'a', true, null, '{"k":1.10}', list];
    expect(bindJson('postgres').params).toEqual(params('1.10'));
    expect(bindJson('mysql').params).toEqual(params({ decimal: '1.10' }));
    expect(bindJson('postgres').untyped?.map(({ index, name }) => [index, name])).toEqual([
      [1, 'd'],
      [5, 'o'],
      [6, 'l'],
    ]);
    expect(bindJson('mysql').untyped?.map(({ name, isJson }) => [name, isJson])).toEqual([
      ['s', false],
      ['o', true],
      ['l', true],
    ]);
  });

  it('in nested arrays keep their nesting', () => {
    const x = [[1, 2], [3, null], []];
    const [bound] = bind('SELECT :x', { x }).untyped ?? [];
    expect(untypedText(bound?.value ?? null, { elements: 'integer' })).toBe('{{"1","2"},{"3",NULL},{}}');
    expect(bind('SELECT :x', { x }, 'postgres', { x: 'json[]' }).params).toEqual([
      '{"[1,2]","[3,null]","[]"}',
    ]);
  });
});

describe('a list', () => {
  const lists: [text: string, postgres: string, mysql: string][] = [
    ['a IN (:x)', 'a = ANY ($1)', 'a IN (?,?)'],
    ['a in ( :x )', 'a = ANY ($1 )', 'a in ( ?,? )'],
    ['a NOT IN (:x)', 'a <> ALL ($1)', 'a NOT IN (?,?)'],
    ['a not  in(:x) AND b', 'a <> ALL ($1) AND b', 'a not  in(?,?) AND b'],
    ['a IN ({{ x }})', 'a = ANY ($1)', 'a IN (?,?)'],
    ['a."NOT" IN (:x)', 'a."NOT" = ANY ($1)', 'a."NOT" IN (?,?)'],
    // On PostgreSQL it is an array elsewhere.
    ['a IN (:x, 1)', 'a IN ($1, 1)', 'a IN (?,?, 1)'],
    ['a IN (1, :x)', 'a IN (1, $1)', 'a IN (1, ?,?)'],
    ['a NOT IN ((1), :x , f(2, 3))', 'a NOT IN ((1), $1 , f(2, 3))', 'a NOT IN ((1), ?,? , f(2, 3))'],
    ['a IN (SELECT 1, :x)', 'a IN (SELECT 1, $1)', 'a IN (SELECT 1, ?)'],
    ['a IN (f(:x, 1))', 'a IN (f($1, 1))', 'a IN (f(?, 1))'],
    ['a IN (-:x)', 'a IN (-$1)', 'a IN (-?)'],
    ['a IN :x', 'a IN $1', 'a IN ?'],
    ['f(:x)', 'f($1)', 'f(?)'],
    ['"IN" (:x)', '"IN" ($1)', '"IN" (?)'],
    ['a IN (:x', 'a IN ($1', 'a IN (?'],
    ['a + IN + (:x)', 'a + IN + ($1)', 'a + IN + (?)'],
  ];
  it.each(lists)('%s', (condition, postgres, mysql) => {
    const text = `SELECT 1 WHERE ${condition}`;
    expect(bind(text, { x: [1, 2] }).text).toBe(`SELECT 1 WHERE ${postgres}`);
    expect(bind(text, { x: ['a', 'b'] }, 'postgres', { x: 'string[]' }).text).toBe(
      `SELECT 1 WHERE ${postgres.replace('$1', '$1::text[]')}`,
    );
    expect(bind(text, { x: [1, 2] }, 'mysql').text).toBe(`SELECT 1 WHERE ${mysql}`);
    const plain = condition.replace(/:x|\{\{ x \}\}/, '?');
    expect(bind(text, { x: 1 }, 'mysql').text).toBe(`SELECT 1 WHERE ${plain}`);
  });

  it.each([
    ['IN (:x, 5)', 'IN ( 5)'],
    ['IN (5, :x)', 'IN (5 )'],
    ['IN (5, :x, 6)', 'IN (5 , 6)'],
    ['IN (:x)', 'IN (SELECT NULL FROM DUAL WHERE FALSE)'],
    ['NOT IN ( :x /* , */ , :x )', 'NOT IN ( SELECT NULL FROM DUAL WHERE FALSE /* , */   )'],
    ['IN (:x, :x, 5, :x)', 'IN (  5 )'],
    ['IN (:x, :y)', 'IN ( ?)'],
    ['IN (:y, :x, :x, :y)', 'IN (?  , ?)'],
    ['IN (:x) OR a IN (:x, :y)', 'IN (SELECT NULL FROM DUAL WHERE FALSE) OR a IN ( ?)'],
  ])('without elements leaves no comma on MySQL: %s', (condition, written) => {
    const text = 'SELECT 1 WHERE a ';
    for (const dialect of ['mysql', 'mariadb'] as const) {
      const bound = bind(text + condition, { x: [], y: 1 }, dialect);
      expect(bound.text).toBe(text + written);
      expect(bound.params.length).toBe(written.split('?').length - 1);
    }
  });

  it.each([
    ...[
      'a = :x',
      ':x = a',
      'a <> :x',
      'a != :x',
      ':x != a',
      'a <=> :x',
      'a < :x',
      ':x >= a',
      'a = (:x)',
      '((:x)) = a',
    ],
    ...['a LIKE :x', 'a NOT LIKE :x', ':x NOT LIKE a', 'a REGEXP :x', 'a RLIKE (:x)', 'a SOUNDS LIKE :x'],
    ...['a BETWEEN :x AND 2', 'a BETWEEN 1 AND :x', ':x BETWEEN 1 AND 2', 'a BETWEEN 1 AND 2 AND b = :x'],
    ...[
      ':x IN (1, 2)',
      ':x NOT IN (SELECT 1)',
      '(a, b) = (1, :x)',
      '(a, b) IN ((1, 2), (:x, 3))',
      'a = BINARY :x',
    ],
    ...[
      ':x COLLATE utf8mb4_bin = a',
      'CASE :x WHEN 1 THEN 2 END',
      'CASE a WHEN :x THEN 2 END',
      'a = (b = :x)',
    ],
  ])('is refused on MySQL where it would be compared with one value: %s', (condition) => {
    for (const dialect of ['mysql', 'mariadb'] as const)
      for (const types of [{}, { x: 'integer[]' }]) {
        const call = () => bind(`SELECT 1 WHERE ${condition}`, { x: [1] }, dialect, types);
        expect(call).toThrow(expect.objectContaining({ code: 'CONTEXT_INVALID' }));
        expect(call).toThrow(/^context\.x must not be a list here/);
      }
    expect(bind(`SELECT 1 WHERE ${condition}`, { x: [1] }, 'mysql', { x: 'json' }).params).toEqual(['[1]']);
    expect(bind(`SELECT 1 WHERE ${condition}`, { x: 1 }, 'mysql').params).toEqual([1]);
  });

  it.each([
    ['SELECT', 'SELECT JSON_CONTAINS(doc, :x) = 1'],
    ['SELECT', 'SELECT 1 WHERE 1 MEMBER OF (:x)'],
    ['SELECT', 'SELECT 1 WHERE :x IS NULL OR CASE WHEN :x IS NOT NULL THEN 1 END'],
    ['SELECT', 'SELECT @a := :x'],
    ['INSERT', 'INSERT INTO t VALUES (1, :x), (:x, 2) ON DUPLICATE KEY UPDATE a = 1, t.b = :x'],
    ['INSERT', 'INSERT INTO t SET a = 1, b = :x'],
    ['UPDATE', 'UPDATE t JOIN u ON a = b SET t.`a` = :x, b = (:x), u.c = (SELECT 1 WHERE a = 1) WHERE a = 1'],
  ])('is JSON text elsewhere on MySQL: %s %s', (command, text) => {
    const compiled = compileStatement(text, { dialect: 'mysql', command, variables: [] });
    const { params } = compiled.bind({ pinnedJson: '', contextJson: '{"x":[1, 2.0]}' });
    expect(new Set(params)).toEqual(new Set(['[1,2.0]']));
  });

  it('in a list is refused in IN on MySQL, where its JSON text would be compared', () => {
    expect(() => bind('SELECT 1 WHERE a NOT IN (:x)', { x: [[1]] }, 'mysql')).toThrow(
      'context.x must be a list of values, because it is used in IN.',
    );
  });

  it('pads its values on MySQL with its last one', () => {
    const text = 'SELECT 1 WHERE a IN (:x) AND b = :y';
    const params = (x: unknown) => bind(text, { x, y: 'y' }, 'mysql').params;
    expect(params([1])).toEqual([1, 'y']);
    expect(params([1, 2])).toEqual([1, 2, 'y']);
    expect(params([1, 2, 3])).toEqual([1, 2, 3, 3, 'y']);
    expect(params([1, 2, 3, 4, null])).toEqual([1, 2, 3, 4, null, null, null, null, 'y']);
    expect(params([])).toEqual(['y']);
    expect(params(7)).toEqual([7, 'y']);
  });

  it('has one key for each text, also beyond the cached texts', () => {
    const names = Array.from({ length: 4 }, (_, i) => `l${i}`);
    const text = `SELECT 1 WHERE ${names.map((name) => `a IN (:${name})`).join(' AND ')} AND b = :s`;
    for (const dialect of ['postgres', 'mysql'] as const) {
      const compiled = compile(text, dialect);
      const texts = new Map<string, string>();
      for (let round = 0; round < 2; round++) {
        for (let n = 0; n < 256; n++) {
          const lengths = names.map((_, i) => (n >> (2 * i)) & 3);
          const context = names.map((name, i) => [name, lengths[i] === 3 ? 1 : Array(lengths[i]).fill(1)]);
          const contextJson = JSON.stringify({ ...Object.fromEntries(context), s: 's' });
          const bound = compiled.bind({ pinnedJson: '', contextJson });
          expect(texts.get(bound.key) ?? bound.text).toBe(bound.text);
          texts.set(bound.key, bound.text);
          const marks = lengths.map((length) => {
            if (length === 3) return dialect === 'mysql' ? 'IN (?)' : 'IN ($)';
            if (dialect === 'postgres') return '= ANY ($)';
            return length === 0
              ? 'IN (SELECT NULL FROM DUAL WHERE FALSE)'
              : `IN (${Array(length).fill('?')})`;
          });
          const written = `SELECT 1 WHERE ${marks.map((mark) => `a ${mark}`).join(' AND ')} AND b = `;
          expect(bound.text.replaceAll(/\$\d/g, '$')).toBe(written + (dialect === 'mysql' ? '?' : '$'));
        }
      }
      expect(texts.size).toBe(dialect === 'mysql' ? 256 : 16);
      // On MySQL, a list of one has the same text as a single value.
      expect(new Set(texts.values()).size).toBe(dialect === 'mysql' ? 81 : 16);
    }
    expect(bind('SELECT :a', { a: 1 }).key).toBe('');
    expect(bind('SELECT :a', { a: [1] }).key).toBe('');
  });
});

describe('the text', () => {
  it('ends with the statement', () => {
    for (const end of [';', ' ; ', ' -- x', '\n;;', ' /* x */ ; -- y']) {
      expect(bind(`SELECT :a${end}`, { a: 1 }).text).toBe('SELECT $1');
    }
  });

  it('separates variables from adjacent words', () => {
    expect(bind('SELECT a$:b, 1:b, _:b, é:b, (:b)', { b: 1 }).text).toBe(
      'SELECT a$ $1, 1 $1, _ $1, é $1, ($1)',
    );
    expect(bind('SELECT {{b}}a, {{b}}1, {{b}}_, {{b}}é, {{b}}$$x$$', { b: 1 }).text).toBe(
      'SELECT $1 a, $1 1, $1 _, $1 é, $1 $$x$$',
    );
  });

  it('for describing has a placeholder for each variable', () => {
    const text = 'SELECT :a, :b, :a WHERE x IN (:c)';
    const placeholders = ['a', 'b', 'c'];
    expect(compile(text, 'postgres', { b: 'date' }).describable()).toMatchObject([
      { text: 'SELECT $1, $2::date, $1 WHERE x = ANY ($3)', placeholders },
      { text: 'SELECT $1, $2::date, $1 WHERE x IN ($3)', placeholders },
    ]);
    expect(compile(text, 'mysql').describable()).toMatchObject([
      {
        text: 'SELECT ?, ?, ? WHERE x IN (?)',
        params: [null, null, null, null],
        placeholders: ['a', 'b', 'a', 'c'],
      },
    ]);
  });
});

describe('a position that the database reports', () => {
  const placeOf = (whole: string, index: number) => {
    const before = whole.slice(0, index).split('\n');
    return { line: before.length, column: [...(before.at(-1) as string)].length + 1 };
  };

  it('stays unchanged if it is incomplete', () => {
    const { toStored } = compile('SELECT :a');
    for (const fault of [{ state: 'x' }, { state: 'x', line: 3 }, { state: 'x', column: 3 }]) {
      expect(toStored('SELECT $1', fault)).toEqual(fault);
    }
  });

  it.each<[string, object, Dialect, Record<string, string>?]>([
    ['SELECT here', {}, 'postgres'],
    ['SELECT :name here', { name: 1 }, 'postgres'],
    ['SELECT :n here', { n: 1 }, 'postgres', { n: 'decimal' }],
    ['SELECT {{ name }}here', { name: 1 }, 'postgres'],
    ['SELECT {{ name }}x, :name::int, here', { name: 1 }, 'postgres'],
    ['SELECT :n::int,\n :n::text[], here', { n: 1 }, 'postgres'],
    ['SELECT :n::bigint, :n here', { n: 1 }, 'postgres', { n: 'bigint' }],
    ['SELECT :v[1], :v [2], here', { v: [1] }, 'postgres', { v: 'integer[]' }],
    ['SELECT :n /* x */, :name, here', { n: 1, name: 1 }, 'postgres', { n: 'decimal' }],
    ['SELECT 1 WHERE a::text IN (:list) AND :n::date = b AND here', { list: ['a'], n: 1 }, 'postgres'],
    ['SELECT {{name}} , :name, :other here', { name: 1, other: 2 }, 'mysql'],
    ['SELECT 1 WHERE a IN (:list) AND here', { list: [1, 2, 3] }, 'mysql'],
    ['SELECT 1 WHERE a IN (:list) AND here', { list: [] }, 'postgres'],
    [
      'SELECT 1 WHERE a IN (:l) AND b = :j AND here',
      { l: [1, 2, 3], j: 1 },
      'mysql',
      { l: 'json[]', j: 'json' },
    ],
    ['SELECT 1 WHERE a  NOT  IN ( :list ) AND here', { list: [1] }, 'postgres', { list: 'integer[]' }],
    ['SELECT 1 WHERE a IN(:list) AND here', { list: [1] }, 'postgres', { list: 'number[]' }],
    ["SELECT '😀', :é\n, :name /* :x */, 'ü' here".replace(':é', ':e'), { e: 1, name: 1 }, 'postgres'],
    [
      'SELECT :a+:b+:c+:d+:e+:f+:g+:h+:i+:j+:k, here',
      Object.fromEntries([...'abcdefghijk'].map((name) => [name, 1])),
      'postgres',
    ],
  ])('in %j is mapped to the stored text', (text, context, dialect, types = {}) => {
    const { text: run } = bind(text, context, dialect, types);
    const compiled = compile(text, dialect, types);
    const fault = { state: 'x', ...placeOf(run, run.indexOf('here')) };
    expect(compiled.toStored(run, fault)).toEqual({ state: 'x', ...placeOf(text, text.indexOf('here')) });
  });

  it('inside of a placeholder is mapped to the variable', () => {
    const text = 'SELECT :name, :other';
    const { text: run } = bind(text, { name: 1, other: 2 }, 'postgres', { name: 'bigint' });
    const compiled = compile(text, 'postgres', { name: 'bigint' });
    const first = run.indexOf('$1');
    for (let at = first; at < first + '$1::bigint'.length; at++) {
      expect(compiled.toStored(run, placeOf(run, at))).toEqual(placeOf(text, text.indexOf(':name')));
    }
    const beyond = { line: 1, column: 1_000 };
    expect(compiled.toStored(run, beyond)).toEqual(placeOf(text, text.length));
    expect(compiled.toStored('something else', { line: 1, column: 5 })).toEqual({ line: 1, column: 1 });
  });

  it('is mapped between any variables', () => {
    const piece = fc.constantFrom(
      ':a',
      '{{bb}}',
      ':c_3',
      ':a::text',
      '{{bb}}::int[]',
      '{{bb}}x',
      '{{bb}}[1]',
      '{{bb}} /* x */',
      'x IN (:l)',
      'x NOT IN ( :l )',
      "'q'",
      'é',
      '\n',
      '1',
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 8 }),
        fc.constantFrom<Dialect>('postgres', 'mysql'),
        (pieces, dialect) => {
          const text = `SELECT ${[...pieces, 'here'].join(' , ')}`;
          const types = { bb: 'bigint' };
          const { text: run } = bind(text, { a: 1, bb: 2, c_3: 3, l: [1, 2] }, dialect, types);
          const told = compile(text, dialect, types).toStored(run, placeOf(run, run.indexOf('here')));
          expect(told).toEqual(placeOf(text, text.indexOf('here')));
        },
      ),
      { numRuns: 300 },
    );
  });
});
