/** Compares the hub's lexer with the engines' own: both must find the same strings, comments and variables. */

import { compileStatement, type Dialect } from '@datahub/statement/compile';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scaled } from '../../../../tests/support/scale.ts';
import type { Connection } from '../../src/ports/engine.ts';
import { ask, connect } from '../fixture.ts';

/** A column of a SELECT list: its text, its expected name and its expected value. */
interface Piece {
  text: (alias: string) => string;
  name?: string;
  value: string | number;
  /** The name of the variable in the text. */
  variable?: string;
}

/** Texts that begin or end a string, a comment or a name in one of the dialects. */
const traps = [
  ...[
    "'",
    '"',
    '`',
    '\\',
    '$',
    '$$',
    '$t$',
    "E'",
    "e'",
    ':x',
    '::int',
    ':=',
    '{',
    '}',
    '?',
    '@a',
    '#',
    ';',
    '[',
    ']',
  ],
  ...[
    '--',
    '-- ',
    '/*',
    '*/',
    '/',
    '*',
    '(',
    ')',
    ',',
    ' ',
    '\n',
    '\r',
    '\t',
    '\u007f',
    'é',
    '縗',
    '\u00a0',
    '\u2028',
    '😀',
    'IN (:x)',
  ],
];
const braced = /\{\{\s*\w+\s*\}\}/;
const content = fc
  .array(fc.constantFrom(...traps), { maxLength: 8 })
  .map((parts) => parts.join(''))
  .filter((text) => !braced.test(text));
const inLine = content.map((text) => text.replace(/[\n\r]/g, ' '));
const escaped = (text: string, quote: string) =>
  text.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`);
const doubled = (text: string, quote: string) => text.replaceAll(quote, quote + quote);

const column = (text: string, value: string | number): Piece => ({
  text: (alias) => `${text} AS ${alias}`,
  value,
});
const named = (text: string, quote: string): Piece => ({
  text: () => `1 AS ${quote}${doubled(text, quote)}${quote}`,
  name: text,
  value: 1,
});

const shared = [
  content.map((text) => ({
    text: (alias: string) => `:${alias}_v AS ${alias}`,
    value: text,
    variable: text,
  })),
  content.map((text) => ({
    text: (alias: string) => `{{ ${alias}_v }} AS ${alias}`,
    value: text,
    variable: text,
  })),
  inLine.map((text) => column(`-- ${text}\n 6`, 6)),
  fc.constant(column('7/**/', 7)),
  fc.constant(column('(SELECT 8)', 8)),
];

const ofPostgres = [
  content.map((text) => column(`'${doubled(text, "'")}'`, text)),
  content.map((text) => column(`E'${escaped(text, "'")}'`, text)),
  content.map((text) => column(`e'${doubled(text.replaceAll('\\', '\\\\'), "'")}'`, text)),
  fc
    .tuple(
      content,
      content,
      fc.constantFrom('\n', ' \n\t', '\r', '\n-- :x\n ', " -- it's\n", '--\r', '\t-- :x\r\n--\n--\r\t'),
    )
    .map(([one, other, gap]) => column(`E'${escaped(one, "'")}'${gap}'${escaped(other, "'")}'`, one + other)),
  fc
    .tuple(content, content)
    .map(([one, other]) => column(`'${doubled(one, "'")}'\n'${doubled(other, "'")}'`, one + other)),
  content.filter((text) => !text.includes('$q$')).map((text) => column(`$q$${text}$q$`, text)),
  content
    .filter((text) => !text.includes('$$') && !text.endsWith('$'))
    .map((text) => column(`$$${text}$$`, text)),
  content.filter((text) => text !== '' && Buffer.byteLength(text) < 60).map((text) => named(text, '"')),
  content.map((text) => column(`/* ${text.replaceAll('/', '')} /* :x */ */ 5`, 5)),
  inLine.map((text) => column(`--${text}\r 4`, 4)),
  fc.constant(column("'{1,2,3}'::int[]", [1, 2, 3] as never)),
  fc.constant(column('(ARRAY[1,2,3])[2:3]', [2, 3] as never)),
  fc.constant(column('(SELECT 9 AS é$$)', 9)),
  fc.constant(column('(SELECT 9 AS 😀$$)', 9)),
  fc.constant(column("B'101'::text", '101')),
  fc.constant(column("U&'\\0041'", 'A')),
];

const ofMysql = [
  ...["'", '"'].flatMap((quote) => [
    content.map((text) => column(`${quote}${escaped(text, quote)}${quote}`, text)),
    content.map((text) => column(`${quote}${doubled(text.replaceAll('\\', '\\\\'), quote)}${quote}`, text)),
  ]),
  content
    // In MySQL, names cannot have characters beyond the basic plane, nor blanks at their end.
    .map((text) => `n${text.replaceAll('😀', '')}.`)
    .map((text) => named(text, '`')),
  content.map((text) => column(`/* ${text.replaceAll('/', '')} */ 5`, 5)),
  inLine.map((text) => column(`# ${text}\r\n 4`, 4)),
  fc.constant(column('5--3', 8)),
  fc.constant(column("_utf8mb4'a'", 'a')),
  fc.constant(column("'a' 'b'", 'ab')),
  fc.constant(column('(SELECT 9 AS é$$)', 9)),
];

const servers: { dialect: Dialect; url: string | undefined }[] = [
  { dialect: 'postgres', url: process.env.POSTGRES_URL },
  { dialect: 'mariadb', url: process.env.MARIADB_URL },
  { dialect: 'mysql', url: process.env.MYSQL_URL },
];

describe.each(servers)('the lexer of $dialect', ({ dialect, url }) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    const piece = fc.oneof(...shared, ...(dialect === 'postgres' ? ofPostgres : ofMysql));
    const pieces: fc.Arbitrary<Piece[]> = fc.array(piece, { minLength: 1, maxLength: 8 });
    const write = (list: Piece[]) => `SELECT ${list.map(({ text }, i) => text(`c${i}`)).join('\n, ')}`;
    const compile = (text: string) => compileStatement(text, { dialect, command: 'SELECT', variables: [] });

    beforeAll(async () => {
      connection = await connect(dialect, url as string);
    });
    afterAll(() => connection.close());

    it('finds the same strings, names, comments and variables as the engine', async () => {
      const property = fc.asyncProperty(pieces, async (list) => {
        const variables = list.flatMap(({ variable }, i) =>
          variable === undefined ? [] : [[`c${i}_v`, variable]],
        );
        const compiled = compile(write(list));
        expect(compiled.variables).toEqual(variables.map(([name]) => name));
        const context = JSON.stringify(Object.fromEntries(variables));
        const { text, params } = compiled.bind({ pinnedJson: '', contextJson: context });
        const { data } = await ask(connection, text, { params });
        // Duplicate names are numbered, which other tests cover.
        expect(Object.values(data[0] ?? {})).toEqual(list.map(({ value }) => value));
        const names = list.map(({ name }, i) => name ?? `c${i}`);
        if (new Set(names).size === names.length)
          expect(Object.keys(data[0] ?? {}).sort()).toEqual(names.sort());
      });
      // Each run has 4.5 columns on average.
      await fc.assert(property, { numRuns: scaled(400, 11_200) });
    }, 300_000);

    it('finds as many variables as the engine in statements with random typing errors', async () => {
      const slip = fc.tuple(fc.nat(), fc.nat({ max: 2 }), fc.constantFrom(...traps, 'a', '1', ''));
      let compared = 0;
      const property = fc.asyncProperty(
        pieces,
        fc.array(slip, { minLength: 1, maxLength: 2 }),
        async (list, slips) => {
          let text = write(list);
          for (const [where, gone, put] of slips) {
            const at = 7 + (where % (text.length - 7));
            text = text.slice(0, at) + put + text.slice(at + gone);
          }
          const found = described(text);
          if (found === undefined) return;
          const { placeholders, ...statement } = found;
          const signature = await connection.describe({ ...statement, kind: 'read' }).catch(() => undefined);
          if (signature === undefined) return;
          compared++;
          expect({ text, count: signature.parameters.length }).toEqual({ text, count: placeholders.length });
        },
      );
      await fc.assert(property, { numRuns: scaled(1_000, 20_000) });
      expect(compared).toBeGreaterThan(scaled(100, 2_000));
    }, 300_000);

    if (dialect === 'postgres')
      it.each(['$$', '$q$'])('finds a quote in %s after a declared variable, not a type', async (quote) => {
        const variables = [{ key: 'v', type: 'string' }];
        const text = `SELECT :v${quote} :x ${quote}`;
        const compiled = compileStatement(text, { dialect, command: 'SELECT', variables });
        expect(compiled.variables).toEqual(['v']);
        const statement = compiled.bind({ pinnedJson: '', contextJson: '{"v":"a"}' });
        const rejected = ask(connection, statement.text, { params: statement.params });
        await expect(rejected).rejects.toThrow(`syntax error at or near "${quote} :x ${quote}"`);
      });

    const described = (text: string) => {
      try {
        return compile(text).describable()[0];
      } catch {
        return undefined;
      }
    };
  });
});
