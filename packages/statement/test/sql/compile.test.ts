import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileStatement, type Dialect } from '../../src/compile.ts';

const dialects: Dialect[] = ['postgres', 'mysql', 'mariadb'];

const compile = (text: string, dialect: Dialect = 'postgres', variables: object[] = [], command = 'SELECT') =>
  compileStatement(text, { dialect, command, variables: variables as never });

const bind = (text: string, context: object, dialect: Dialect = 'postgres', variables: object[] = []) =>
  compile(text, dialect, variables).bind({ pinnedJson: '', contextJson: JSON.stringify(context) });

describe('variables', () => {
  it('get one number a name on PostgreSQL, one mark a place on MySQL', () => {
    const text = 'SELECT :a, {{b}}, :a';
    expect(bind(text, { a: 1, b: 'x' })).toMatchObject({ text: 'SELECT $1, $2, $1', params: [1, 'x'] });
    expect(bind(text, { a: 1, b: 'x' }, 'mysql')).toMatchObject({
      text: 'SELECT ?, ?, ?',
      params: [1, 'x', 1],
    });
  });

  it.each([
    ["SELECT ':a', 'it''s :b'", []],
    ['SELECT ":a" FROM ":b"', []],
    ['SELECT 1 -- :a\n, :b', ['b']],
    ['SELECT 1 /* :a */ + :b', ['b']],
    ['SELECT x::int, y::text', []],
    [':a', ['a']],
  ])('of %j are %j in every dialect', (text, names) => {
    for (const dialect of dialects) {
      const command = text.startsWith(':') ? `SELECT ${text}` : text;
      expect(compile(command, dialect).variables).toEqual(names);
    }
  });

  it.each([
    ['SELECT $$ :a $$, $t$ :b $$ $t$, :c', ['c']],
    ["SELECT E'\\' :a', :b", ['b']],
    ["SELECT 'back\\', :a", ['a']],
    ['SELECT /* /* :a */ :b */ :c', ['c']],
    ['SELECT a[1:n], b[:n], ARRAY[:x, [:y]]', ['x', 'y']],
    ["SELECT d ? 'k', e ?| f, :a", ['a']],
    ['SELECT 1 # :a\n', ['a']],
  ])('of %j on PostgreSQL are %j', (text, names) => expect(compile(text).variables).toEqual(names));

  it('may be the bound of a slice when declared', () => {
    expect(compile('SELECT a[1:n]', 'postgres', [{ key: 'n' }]).variables).toEqual(['n']);
  });

  it.each([
    ["SELECT 'a\\' :b', :c", ['c']],
    ['SELECT "a\\" :b", :c', ['c']],
    ['SELECT `:a`, :b # :c\n, :d', ['b', 'd']],
    ['SELECT 1--:a\n', ['a']],
    ['SELECT @x := 1, :a', ['a']],
  ])('of %j on MySQL are %j', (text, names) => expect(compile(text, 'mysql').variables).toEqual(names));

  it('are known if they are declared or used, also to strict keys', () => {
    const give = (context: object) =>
      compile('SELECT :a', 'postgres', [{ key: 'b', type: 'integer' }]).bind({
        pinnedJson: '',
        contextJson: JSON.stringify(context),
        strict: true,
      });
    expect(give({ a: 1, b: 2 }).params).toEqual([1]);
    expect(() => give({ a: 1, c: 2 })).toThrow('context.c is not a variable of this query');
  });

  it('without a type are reported if they are lists', () => {
    const variables = [{ key: 'b', type: 'integer[]' }];
    const { lists } = compile('SELECT 1 IN (:a), 2 IN (:b), 3 = :c', 'postgres', variables);
    expect([...lists]).toEqual(['a']);
  });

  it('stay apart from the words beside them', () => {
    expect(bind('SELECT 1 LIMIT:n', { n: 1 }).text).toBe('SELECT 1 LIMIT $1');
    expect(bind('SELECT {{n}}5, é{{n}}a', { n: 1 }).text).toBe('SELECT $1 5, é $1 a');
    const declared = [{ key: 'n', type: 'string' }];
    for (const quoted of ['$$ INTO t --$$', '$x$ INTO t --$x$'])
      expect(bind(`SELECT :n${quoted}`, { n: 'a' }, 'postgres', declared).text).toBe(
        `SELECT $1::text ${quoted}`,
      );
  });

  it('cannot hide what the database reads as SQL', () => {
    const hidden = "SELECT E'a' --x\n'b\\', , ' AS s INTO stolen --'";
    expect(() => compile(hidden)).toThrow('INTO');
  });

  it('take subscripts, also after a cast and a comment', () => {
    const variables = [{ key: 'v', type: 'integer[]' }];
    const textOf = (sql: string) => bind(sql, { v: [5, 6] }, 'postgres', variables).text;
    expect(textOf('SELECT :v[1], :v [1:2], :v /* x */ [2], :v')).toBe(
      'SELECT ($1::integer[])[1], ($1::integer[]) [1:2], ($1::integer[]) /* x */ [2], $1::integer[]',
    );
    expect(textOf('SELECT 5 IN (:v -- x\n)')).toBe('SELECT 5 = ANY (($1::integer[]) -- x\n)');
    expect(bind('SELECT :v[1]', { v: [5] }).text).toBe('SELECT $1[1]');
  });

  it('become casts if they are declared', () => {
    const variables = [
      { key: 'n', type: 'bigint' },
      { key: 't', type: 'string[]' },
    ];
    expect(bind('SELECT :n, :t', { n: 1, t: ['a', null, '"\\'] }, 'postgres', variables)).toMatchObject({
      text: 'SELECT $1::bigint, $2::text[]',
      params: [1, '{"a",NULL,"\\"\\\\"}'],
    });
  });
});

describe('lists', () => {
  const text = 'SELECT id FROM t WHERE id IN (:ids) AND x NOT IN ( :ids )';

  it('are compared with ANY and ALL on PostgreSQL', () => {
    expect(bind(text, { ids: [1, 2] })).toMatchObject({
      text: 'SELECT id FROM t WHERE id = ANY ($1) AND x <> ALL ($1 )',
      params: ['[1,2]'],
    });
    expect(bind(text, { ids: 1 }).text).toBe('SELECT id FROM t WHERE id IN ($1) AND x NOT IN ( $1 )');
  });

  it('are padded to a power of two on MySQL', () => {
    const bound = bind('SELECT 1 IN (:ids)', { ids: [1, 2, 3] }, 'mysql');
    expect(bound).toMatchObject({ text: 'SELECT 1 IN (?,?,?,?)', params: [1, 2, 3, 3] });
    const texts = new Set(
      Array.from(
        { length: 1_000 },
        (_, n) => bind('SELECT 1 IN (:ids)', { ids: Array(n).fill(1) }, 'mysql').text,
      ),
    );
    expect(texts.size).toBe(12);
  });

  it('have a text for each form of all of them', () => {
    const compiled = compile('SELECT 1 IN (:a), 2 IN (:b)', 'mysql');
    const marksOf = (a: number, b: number) => {
      const contextJson = JSON.stringify({ a: Array(a).fill(1), b: Array(b).fill(1) });
      return compiled.bind({ pinnedJson: '', contextJson }).text.match(/\?+/g)?.length;
    };
    // Side by side, the numbers of both are the same text.
    expect([marksOf(16, 4), marksOf(1, 64)]).toEqual([20, 65]);
  });

  it('that are empty become a query without rows on MySQL', () => {
    expect(bind('SELECT 1 IN (:ids)', { ids: [] }, 'mysql')).toMatchObject({
      text: 'SELECT 1 IN (SELECT NULL FROM DUAL WHERE FALSE)',
      params: [],
    });
  });

  it('have a bound', () => {
    expect(() => bind(text, { ids: Array(10_001).fill(1) })).toThrow(
      expect.objectContaining({ code: 'CONTEXT_INVALID' }),
    );
  });

  it('elsewhere, and objects, are JSON text on MySQL', () => {
    expect(bind('SELECT :a, :b', { a: [1, 'x'], b: { toSqlString: 1 } }, 'mysql').params).toEqual([
      '[1,"x"]',
      '{"toSqlString":1}',
    ]);
  });
});

describe('values', () => {
  const variables = [
    { key: 'i', type: 'integer' },
    { key: 'd', type: 'decimal', valueJson: '1.10' },
    { key: 'u', type: 'uuid', required: false },
    { key: 'e', enumJson: '["a",2]' },
  ];
  const text = 'SELECT :i, :d, :u, :e';

  it('keep every digit', () => {
    const bound = compile(text, 'postgres', variables).bind({
      pinnedJson: '',
      contextJson: '{"i":7,"d":12345678901234567890.120,"e":2}',
    });
    expect(bound.params).toEqual([7, '12345678901234567890.120', null, 2]);
  });

  it('that are declared JSON are bound as JSON, whatever they are', () => {
    const context = {
      s: 'a"b',
      n: 1.5,
      b: true,
      l: [1, 'x', null],
      o: { a: 1 },
      z: null,
      m: [{ a: 1 }, 'x', null],
    };
    const json = Object.keys(context).map((key) => ({ key, type: key === 'm' ? 'json[]' : 'json' }));
    const all = 'SELECT :s, :n, :b, :l, :o, :z, :m';
    const same = ['"a\\"b"', '1.5', 'true', '[1,"x",null]', '{"a":1}', null];
    expect(bind(all, context, 'postgres', json).params).toEqual([...same, '{"{\\"a\\":1}","\\"x\\"",NULL}']);
    expect(bind(all, context, 'mysql', json).params).toEqual([...same, '[{"a":1},"x",null]']);
  });

  it('come from the key, then the call, then the default', () => {
    const bound = compile(text, 'postgres', variables).bind({
      pinnedJson: '{"i":1}',
      contextJson: '{"i":2,"e":"a","unused":1}',
    });
    expect(bound.params).toEqual([1, '1.10', null, 'a']);
  });

  it('that are missing or do not fit are all named at once, and not repeated', () => {
    const failure = (() => {
      try {
        bind(text, { i: 'secret', d: 'secret', u: 'secret' }, 'postgres', variables);
      } catch (err) {
        return err;
      }
    })() as { code: string; errors: { path: string[] }[]; message: string };
    expect(failure.code).toBe('CONTEXT_INVALID');
    expect(failure.errors.map(({ path }) => path.join('.'))).toEqual([
      'context.i',
      'context.d',
      'context.u',
      'context.e',
    ]);
    expect(JSON.stringify(failure) + failure.message).not.toContain('secret');
  });

  it.each([
    ['"a\\u0000b"', 'NUL'],
    ['["a", "\\u0000"]', 'NUL'],
  ])('%s cannot come back as they were sent, and are refused', (json, word) => {
    const refuse = () => compile('SELECT :a').bind({ pinnedJson: '', contextJson: `{"a":${json}}` });
    expect(refuse).toThrow(expect.objectContaining({ code: 'CONTEXT_INVALID' }));
    expect(refuse).toThrow(word);
  });

  it('are not read from prototypes', () => {
    expect(() => bind('SELECT :constructor, :__proto__', {})).toThrow(
      expect.objectContaining({ code: 'CONTEXT_INVALID' }),
    );
    const own = compile('SELECT :__proto__').bind({ pinnedJson: '', contextJson: '{"__proto__":"x"}' });
    expect(own.params).toEqual(['x']);
  });
});

describe('what is refused', () => {
  it.each([
    ['SELECT 1; DELETE FROM t', 'SQL_REJECTED', 1, 11],
    ['SELECT\n  $1', 'SQL_REJECTED', 2, 3],
    ["SELECT '{{name}}'", 'SQL_REJECTED', 1, 9],
    ["SELECT 'open", 'SQL_REJECTED', 1, 8],
    ['SELECT /* open', 'SQL_REJECTED', 1, 8],
    ['SELECT $x$ open', 'SQL_REJECTED', 1, 8],
    ['DELETE FROM t', 'COMMAND_MISMATCH', 1, 1],
    ['WITH x AS (SELECT 1) DELETE FROM t', 'COMMAND_MISMATCH', 1, 22],
    ['SELECT 1 INTO t', 'SQL_REJECTED', 1, 10],
    ['BEGIN', 'SQL_REJECTED', 1, 1],
    ['SET x = 1', 'SQL_REJECTED', 1, 1],
    ['COPY t TO PROGRAM $$x$$', 'SQL_REJECTED', 1, 1],
    ['', 'SQL_REJECTED', 1, 1],
    ['-- nothing', 'SQL_REJECTED', 1, 1],
    ['SELECT \u0000', 'SQL_REJECTED', 1, 8],
  ])('%j is refused with %s at %i:%i', (text, code, line, column) => {
    expect(() => compile(text)).toThrow(expect.objectContaining({ code, sql: { line, column } }));
  });

  it.each(['SELECT 1 /*! + 1 */', 'SELECT 1 /*M! + 1 */', 'SELECT ?'])('%j is refused on MySQL', (text) =>
    expect(() => compile(text, 'mysql')).toThrow(expect.objectContaining({ code: 'SQL_REJECTED' })),
  );
});

describe('places', () => {
  it('in the text that was run are reported at their place in the stored one', () => {
    const text = 'SELECT :aVeryLongName,\n  {{other}} AS x, nope FROM t WHERE id IN (:ids) AND bad';
    const compiled = compile(text, 'postgres', [{ key: 'aVeryLongName', type: 'bigint' }]);
    const context = '{"aVeryLongName":1,"other":2,"ids":[1]}';
    const { text: run } = compiled.bind({ pinnedJson: '', contextJson: context });
    for (const word of ['nope', 'bad', 'FROM']) {
      const place = (whole: string) => {
        const before = whole.slice(0, whole.indexOf(word)).split('\n');
        return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
      };
      expect(compiled.toStored(run, { state: '42703', ...place(run) })).toEqual({
        state: '42703',
        ...place(text),
      });
    }
  });
});

/** Pieces of SQL whose tokens are known: texts that hide a variable, and variables. */
const hidden = (dialect: Dialect) => [
  "':x'",
  "'a''b :x'",
  '"q :x"',
  '/* :x */',
  '-- :x\n',
  ...(dialect === 'postgres'
    ? ['$$ :x $$', '$t$:x$t$', "E'\\':x'", '/*/* :x */ :x*/', 'a::b', 'a[1:x]']
    : []),
  ...(dialect === 'postgres' ? [] : ["'\\':x'", '"\\":x"', '`:x`', '# :x\n', '@v:=1']),
];

describe.each(dialects)('any %s text', (dialect) => {
  it('binds exactly its variables', () => {
    const piece = fc.oneof(
      fc.constantFrom(...hidden(dialect)).map((text) => ({ text, name: undefined })),
      fc
        .constantFrom('a', 'b', 'c_1', '__proto__')
        .chain((name) =>
          fc.constantFrom(`:${name}`, `{{${name}}}`, `{{ ${name} }}`).map((text) => ({ text, name })),
        ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const compiled = compile(`SELECT ${pieces.map(({ text }) => text).join(' , ')} , 1`, dialect);
        const names = pieces.flatMap(({ name }) => (name === undefined ? [] : [name]));
        expect(compiled.variables).toEqual([...new Set(names)]);
        const context = `{${compiled.variables.map((name) => `${JSON.stringify(name)}:"v-${name}"`).join(',')}}`;
        const { text, params } = compiled.bind({ pinnedJson: '', contextJson: context });
        for (const { text: kept, name } of pieces) if (name === undefined) expect(text).toContain(kept);
        expect(params).toEqual(
          (dialect === 'postgres' ? compiled.variables : names).map((name) => `v-${name}`),
        );
        expect(text).not.toContain('v-');
      }),
      { numRuns: Number(process.env.PROPERTY_RUNS ?? 1_000) },
    );
  });

  it('never makes the lexer run for ever or throw anything but a refusal', () => {
    const noise = fc.string({ unit: fc.constantFrom(...`'"\`$:;{}[]()/*-#\\ \nax1E?=@`), maxLength: 60 });
    fc.assert(
      fc.property(noise, (text) => {
        try {
          compile(`SELECT ${text}`, dialect);
        } catch (err) {
          expect(err).toMatchObject({ name: 'HubError' });
        }
      }),
      { numRuns: Number(process.env.PROPERTY_RUNS ?? 2_000) },
    );
  });
});

it('refuses a new text of too many tokens, and compiles a stored one', () => {
  const text = (count: number) => `SELECT 1 IN (${'1,'.repeat(count)}1)`;
  const compile = (count: number, isNew: boolean) =>
    compileStatement(text(count), { dialect: 'postgres', command: 'SELECT', variables: [], isNew }).kind;
  expect(compile(14_990, true)).toBe('read');
  expect(() => compile(15_010, true)).toThrow(/more than 30000 words, numbers and symbols/);
  expect(compile(15_010, false)).toBe('read');
});

it('bounds the characters of a value in all places of it', () => {
  const text = `SELECT ${Array(1_000).fill('length(:v)').join(' + ')}`;
  expect(bind(text, { v: 'a'.repeat(16_000) }).params).toHaveLength(1);
  expect(() => bind(text, { v: 'a'.repeat(17_000) })).toThrow(
    expect.objectContaining({ code: 'TOO_LARGE', message: expect.stringContaining('16777216 characters') }),
  );
  expect(() => bind('SELECT :v', { v: 'a'.repeat(8_000_000) })).not.toThrow();
});

it.each(['mysql', 'mariadb'] as const)(
  'writes a value for %s once, and bounds it in all places',
  (dialect) => {
    const variables = [{ key: 'v', type: 'json' }];
    const bindTo = (uses: string, v: unknown) => {
      const compiled = compileStatement(`SELECT ${uses}`, { dialect, command: 'SELECT', variables });
      return compiled.bind({ pinnedJson: '', contextJson: JSON.stringify({ v }) });
    };
    const uses = Array(14_000).fill(':v').join();
    expect(bindTo(uses, { a: 'x'.repeat(1_000) }).params).toHaveLength(14_000);
    const tooMany = expect.objectContaining({ code: 'TOO_LARGE' });
    expect(() => bindTo(uses, { a: 'x'.repeat(100_000) })).toThrow(tooMany);
    const lists = Array(100).fill('1 IN (:v)').join(' OR ');
    expect(() => bindTo(lists, Array(400).fill('x'.repeat(1_000)))).toThrow(tooMany);
  },
);
