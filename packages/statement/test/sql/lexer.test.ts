import { describe, expect, it } from 'vitest';
import { lineAndColumn, tokenize } from '../../src/sql/lexer.ts';
import type { Dialect } from '../../src/types.ts';

/** Tokens as `kind text` each, or the refusal's words. */
function read(text: string, dialect: Dialect = 'postgres', declared: string[] = []): string[] | string {
  try {
    return tokenize(text, dialect, { isDeclared: (name) => declared.includes(name) }).map((token) =>
      token.kind === 'quoted'
        ? `quoted ${text.slice(token.start, token.end)}`
        : `${token.kind} ${token.text}`,
    );
  } catch (err) {
    expect(err).toMatchObject({ code: 'SQL_REJECTED', stage: 'prepare', retryable: false });
    const { message, sql } = err as { message: string; sql: { line: number; column: number } };
    return `${sql.line}:${sql.column} ${message}`;
  }
}
const both: Dialect[] = ['postgres', 'mysql'];

it('tokens have their positions', () => {
  const text = "sélect :a, {{ b }} E'x' 1.5 ::";
  const tokens = tokenize(text, 'postgres', { isDeclared: () => false });
  expect(tokens.map(({ start, end }) => text.slice(start, end))).toEqual([
    ...['sélect', ':a', ',', '{{ b }}', "E'x'", '1.5', '::'],
  ]);
  expect(tokens.map(({ kind, text: token }) => `${kind} ${token}`)).toEqual([
    ...['word SÉLECT', 'variable a', 'symbol ,', 'variable b', 'quoted ', 'number 1.5', 'symbol ::'],
  ]);
});

it('lines and columns count from 1, in characters', () => {
  expect(lineAndColumn('ab', 0)).toEqual({ line: 1, column: 1 });
  expect(lineAndColumn('ab', 1)).toEqual({ line: 1, column: 2 });
  expect(lineAndColumn('a\nb\n😀x', 6)).toEqual({ line: 3, column: 2 });
});

describe('numbers', () => {
  it.each([
    ...['1', '12', '1.5', '12.34', '.5', '.55', '5.', '1e5', '1E5', '1e+10', '12.5e-12', '.5e3', '5.e3'],
  ])('%s is one', (text) => {
    for (const dialect of both) expect(read(`${text} `, dialect)).toEqual([`number ${text}`]);
  });

  it.each([
    ['1e', ['number 1', 'word E']],
    ['1e+', ['number 1', 'word E', 'symbol +']],
    ['1.2.3', ['number 1.2', 'number .3']],
    ['1x', ['number 1', 'word X']],
    ['.', ['symbol .']],
    ['1 .', ['number 1', 'symbol .']],
    ['a.b', ['word A', 'symbol .', 'word B']],
    ['a .b5', ['word A', 'symbol .', 'word B5']],
    ['5.x', ['number 5.', 'word X']],
    ['-1', ['symbol -', 'number 1']],
  ])('%s is %j', (text, tokens) => expect(read(text)).toEqual(tokens));
});

describe('words', () => {
  it.each([
    ['a_1$x', ['word A_1$X']],
    ['_a', ['word _A']],
    ['😀a', ['word 😀A']],
    ['a😀:b', ['word A😀', 'variable b']],
    ['\u00a0', ['word \u00a0']],
    ['a\u000bb', ['word A', 'word B']],
  ])('%j is %j', (text, tokens) => {
    for (const dialect of both) expect(read(text, dialect)).toEqual(tokens);
  });
});

describe('comments', () => {
  it.each<[string, string[], string[]]>([
    ['1 -- :a', ['number 1'], ['number 1']],
    ['1 --', ['number 1'], ['number 1']],
    ['1 --\t:a', ['number 1'], ['number 1']],
    ['1 --\u0001:a', ['number 1'], ['number 1']],
    ['1 --\u007f:a', ['number 1'], ['number 1']],
    ['1--:a', ['number 1'], ['number 1', 'symbol -', 'symbol -', 'variable a']],
    ['1--é', ['number 1'], ['number 1', 'symbol -', 'symbol -', 'word É']],
    [
      '1 - -:a',
      ['number 1', 'symbol -', 'symbol -', 'variable a'],
      ['number 1', 'symbol -', 'symbol -', 'variable a'],
    ],
    ['-- x\n:a', ['variable a'], ['variable a']],
    ['-- x\r:a\n:b', ['variable a', 'variable b'], ['variable b']],
    ['# x\n:a', ['symbol #', 'word X', 'variable a'], ['variable a']],
    ['# x\r:a', ['symbol #', 'word X', 'variable a'], []],
    ['/* :a */:b', ['variable b'], ['variable b']],
    ['/**/:b', ['variable b'], ['variable b']],
    ['/*/:a*/:b', ['variable b'], ['variable b']],
    ['/*** :a ***/:b', ['variable b'], ['variable b']],
    ['/* /* :a */ */:b', ['variable b'], ['symbol *', 'symbol /', 'variable b']],
    [
      '1 / * :a',
      ['number 1', 'symbol /', 'symbol *', 'variable a'],
      ['number 1', 'symbol /', 'symbol *', 'variable a'],
    ],
    ['/*x!*/1', ['number 1'], ['number 1']],
    ['/* M! */1', ['number 1'], ['number 1']],
  ])('%j', (text, postgres, mysql) => {
    expect(read(text, 'postgres')).toEqual(postgres);
    expect(read(text, 'mysql')).toEqual(mysql);
    expect(read(text, 'mariadb')).toEqual(mysql);
  });

  const executed = 'The database executes comments of the form /*! … */, so the hub rejects them.';
  const open = 'This comment is not closed.';
  it.each<[string, Dialect, string]>([
    ['1 /*! :a */', 'mysql', `1:3 ${executed}`],
    ['1 /*M! :a */', 'mariadb', `1:3 ${executed}`],
    ['1 /*!50000 :a */', 'mysql', `1:3 ${executed}`],
    ['\n/* x', 'mysql', `2:1 ${open}`],
    ['/* x *', 'postgres', `1:1 ${open}`],
    ['/*', 'mysql', `1:1 ${open}`],
    ['/*/', 'mysql', `1:1 ${open}`],
    ['/* /* x */', 'postgres', `1:1 ${open}`],
  ])('%j on %s: %s', (text, dialect, refusal) => expect(read(text, dialect)).toBe(refusal));

  it('of the kind that MySQL executes are plain ones to PostgreSQL', () => {
    expect(read('/*! :a */1')).toEqual(['number 1']);
    expect(read('/*M! :a */1')).toEqual(['number 1']);
  });
});

describe('quotes', () => {
  const rest = ['symbol ,', 'variable a'];
  it.each<[string, Dialect[], string[]]>([
    ["'x',:a", both, ["quoted 'x'", ...rest]],
    ["'',:a", both, ["quoted ''", ...rest]],
    ["'x''y',:a", both, ["quoted 'x''y'", ...rest]],
    ["'''x',:a", both, ["quoted '''x'", ...rest]],
    ["'x' 'y',:a", both, ["quoted 'x'", "quoted 'y'", ...rest]],
    ['"x""y",:a', both, ['quoted "x""y"', ...rest]],
    ["'x\\',:a", ['postgres'], ["quoted 'x\\'", ...rest]],
    ['"x\\",:a', ['postgres'], ['quoted "x\\"', ...rest]],
    ["'x\\',:b',:a", ['mysql'], ["quoted 'x\\',:b'", ...rest]],
    ['"x\\",:b",:a', ['mysql'], ['quoted "x\\",:b"', ...rest]],
    ["'x\\\\',:a", ['mysql'], ["quoted 'x\\\\'", ...rest]],
    ['`x\\`,:a', ['mysql'], ['quoted `x\\`', ...rest]],
    ['`x``y`,:a', ['mysql'], ['quoted `x``y`', ...rest]],
    ["E'x\\',:b',:a", ['postgres'], ["quoted E'x\\',:b'", ...rest]],
    ["e'x\\',:b',:a", ['postgres'], ["quoted e'x\\',:b'", ...rest]],
    ["E'x''y\\'',:a", ['postgres'], ["quoted E'x''y\\''", ...rest]],
    ["B'x\\',:a", ['postgres'], ['word B', "quoted 'x\\'", ...rest]],
    ["Ee'x\\',:a", ['postgres'], ['word EE', "quoted 'x\\'", ...rest]],
    ["E 'x\\',:a", ['postgres'], ['word E', "quoted 'x\\'", ...rest]],
    ["E'x\\'',:a", ['mysql'], ['word E', "quoted 'x\\''", ...rest]],
    ['E"x\\",:a', ['postgres'], ['word E', 'quoted "x\\"', ...rest]],
    // What continues an E'…' after a line break is one string with it, and the backslash escapes there too.
    ["E'x'\n'\\',:b',:a", ['postgres'], ["quoted E'x'\n'\\',:b'", ...rest]],
    ["E'x' \t\r\n  '\\',:b',:a", ['postgres'], ["quoted E'x' \t\r\n  '\\',:b'", ...rest]],
    ["E'x'\n-- c'\n '\\',:b',:a", ['postgres'], ["quoted E'x'\n-- c'\n '\\',:b'", ...rest]],
    ["E'x'\n'y'\n'\\',:b',:a", ['postgres'], ["quoted E'x'\n'y'\n'\\',:b'", ...rest]],
    ["E'x' -- c'\n '\\',:b',:a", ['postgres'], ["quoted E'x' -- c'\n '\\',:b'", ...rest]],
    ["E'x'--\r--\n\t'\\',:b',:a", ['postgres'], ["quoted E'x'--\r--\n\t'\\',:b'", ...rest]],
    ["E'x' -- '\\',:b',:a", ['postgres'], ["quoted E'x'"]],
    // Not a blank, but a word.
    ["E'x'\n\u00a0'\\',:a", ['postgres'], ["quoted E'x'", 'word \u00a0', "quoted '\\'", ...rest]],
    ["E'x'\u00a0\n'\\',:a", ['postgres'], ["quoted E'x'", 'word \u00a0', "quoted '\\'", ...rest]],
    ["E'x'\n\ufeff'\\',:a", ['postgres'], ["quoted E'x'", 'word \ufeff', "quoted '\\'", ...rest]],
    ["E'x' '\\',:a", ['postgres'], ["quoted E'x'", "quoted '\\'", ...rest]],
    ["E'x'\n,:a", ['postgres'], ["quoted E'x'", ...rest]],
    ["E'x'\n-- '\n,:a", ['postgres'], ["quoted E'x'", ...rest]],
    ["E'x'\n- '\\',:a", ['postgres'], ["quoted E'x'", 'symbol -', "quoted '\\'", ...rest]],
    ["'x'\n'\\',:a", ['postgres'], ["quoted 'x'", "quoted '\\'", ...rest]],
    ['$$ :b $$,:a', ['postgres'], ['quoted $$ :b $$', ...rest]],
    ['$t1$ $$ :b $t1$,:a', ['postgres'], ['quoted $t1$ $$ :b $t1$', ...rest]],
    ['$é_$ :b $é_$,:a', ['postgres'], ['quoted $é_$ :b $é_$', ...rest]],
    ['$a😀$ :b $a😀$,:a', ['postgres'], ['quoted $a😀$ :b $a😀$', ...rest]],
    ['$_$$_$,:a', ['postgres'], ['quoted $_$$_$', ...rest]],
    ['{{a}}', both, ['variable a']],
    [
      "'{{a-b}}' '{{1}}' '{{}}' '{{a}'",
      both,
      ["quoted '{{a-b}}'", "quoted '{{1}}'", "quoted '{{}}'", "quoted '{{a}'"],
    ],
  ])('%j on %j', (text, dialects, tokens) => {
    for (const dialect of dialects) expect(read(text, dialect)).toEqual(tokens);
  });

  const plain = (braced: string) =>
    `${braced} is in quotes, where it is plain text. Remove the quotes: values are bound, never inserted into the text. To build a pattern, concatenate, as in '%' || :name or CONCAT('%', :name).`;
  const numbered =
    'Numbered parameters such as $1 are reserved for the hub. Name your variables, as in :name.';
  it.each<[string, Dialect, string]>([
    ["1 'x", 'postgres', "1:3 This ' is not closed."],
    ["1 'x''", 'mysql', "1:3 This ' is not closed."],
    ["1 'x\\'", 'mysql', "1:3 This ' is not closed."],
    ["1 E'x\\'", 'postgres', "1:3 This ' is not closed."],
    ['"x', 'postgres', '1:1 This " is not closed.'],
    ['`x', 'mysql', '1:1 This ` is not closed.'],
    ['`x`', 'postgres', '1:1 PostgreSQL quotes names with ", not with `.'],
    ["'a {{ b }}'", 'postgres', `1:4 ${plain('{{ b }}')}`],
    ['"{{b}}"', 'mysql', `1:2 ${plain('{{b}}')}`],
    ['$$\n{{ b}}$$', 'postgres', `2:1 ${plain('{{ b}}')}`],
    ["E'{{b }}'", 'postgres', `1:3 ${plain('{{b }}')}`],
    ['1 $x$ y', 'postgres', '1:3 This $x$ is not closed.'],
    ['1 $$ y', 'postgres', '1:3 This $$ is not closed.'],
    ['1 $1', 'postgres', `1:3 ${numbered}`],
    ['$1a$ x $1a$', 'postgres', `1:1 ${numbered}`],
    ['$a-b$', 'postgres', `1:1 ${numbered}`],
    ['$', 'postgres', `1:1 ${numbered}`],
    ['1\0', 'mysql', '1:2 The statement contains a NUL character.'],
  ])('%j on %s: %s', (text, dialect, refusal) => expect(read(text, dialect)).toBe(refusal));

  it('a dollar is a sign like others to MySQL', () => {
    expect(read('$ + $1', 'mysql')).toEqual(['symbol $', 'symbol +', 'symbol $', 'number 1']);
  });
});

describe('colons and braces', () => {
  const name64 = 'n'.repeat(64);
  it.each<[string, string[]]>([
    ['x::int', ['word X', 'symbol ::', 'word INT']],
    ['x:=1', ['word X', 'symbol :=', 'number 1']],
    ['x:::a', ['word X', 'symbol ::', 'variable a']],
    [':', ['symbol :']],
    [': a', ['symbol :', 'word A']],
    [':1', ['symbol :', 'number 1']],
    [':a.b', ['variable a', 'symbol .', 'word B']],
    [':_a1+1', ['variable _a1', 'symbol +', 'number 1']],
    [`:${name64}`, [`variable ${name64}`]],
    [`{{${name64}}}`, [`variable ${name64}`]],
    ['{{a}}{{ b}}{{c }}', ['variable a', 'variable b', 'variable c']],
    ['{', ['symbol {']],
    ['{a}', ['symbol {', 'word A', 'symbol }']],
    ['{ {a}}', ['symbol {', 'symbol {', 'word A', 'symbol }', 'symbol }']],
  ])('%j is %j', (text, tokens) => {
    for (const dialect of both) expect(read(text, dialect)).toEqual(tokens);
  });

  const shape =
    'Write a variable as {{name}}. Its name starts with a letter or underscore, followed by letters, digits or underscores.';
  it.each<[string, string]>([
    [`1 :${name64}n`, '1:3 The name of a variable has at most 64 characters.'],
    [`1 {{${name64}n}}`, `1:3 ${shape}`],
    ['1 {{1}}', `1:3 ${shape}`],
    ['{{a b}}', `1:1 ${shape}`],
    ['{{a}', `1:1 ${shape}`],
    ['{{}}', `1:1 ${shape}`],
    ['{{', `1:1 ${shape}`],
  ])('%j: %s', (text, refusal) => {
    for (const dialect of both) expect(read(text, dialect)).toBe(refusal);
  });

  it('a question mark is an operator to PostgreSQL, and refused as a placeholder', () => {
    expect(read('a ? b')).toEqual(['word A', 'symbol ?', 'word B']);
    expect(read('a = ?', 'mysql')).toBe('1:5 Placeholders must have names: write :name instead of ?.');
  });
});

describe('brackets', () => {
  it.each<[string, string[], string[]?]>([
    ['a[1:n]', []],
    ['a[1:n]', ['n'], ['n']],
    ['a[:n]', []],
    ['a[:n][:m]', []],
    ['a[(:n)]', ['n']],
    ['a[f(1):n]', []],
    ['a[b[1:n]:m]', []],
    ['a[1:2], :n', ['n']],
    ['(a[1:n]), :m', ['m']],
    ['ARRAY[:n]', ['n']],
    ['array[:n, :m]', ['n', 'm']],
    ['ARRAY[[:n], [:m]]', ['n', 'm']],
    ['ARRAY[[[:n]]]', ['n']],
    ['ARRAY[a[1:n], :m]', ['m']],
    ['ARRAY[(:n)]', ['n']],
    ['a[1, [:n]]', []],
    ['a[[:n]]', []],
    ['1, [:n]', []],
    ['[:n]', []],
    ['b[ARRAY[:n]]', ['n']],
    ['), :n', ['n']],
    ['a[1] :n', ['n']],
    ['a(b) [:n]', []],
  ])('%j has %j', (text, names, declared = []) => {
    const variables = tokenize(text, 'postgres', { isDeclared: (name) => declared.includes(name) })
      .filter(({ kind }) => kind === 'variable')
      .map(({ text: name }) => name);
    expect(variables).toEqual(names);
  });

  it('a colon between bounds is a symbol', () => {
    expect(read('a[1:n]')).toEqual(['word A', 'symbol [', 'number 1', 'symbol :', 'word N', 'symbol ]']);
  });
});
