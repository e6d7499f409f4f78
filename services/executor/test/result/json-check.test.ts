import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scaled } from '../../../../tests/support/scale.ts';
import { isJson } from '../../src/result/values/json-check.ts';

const check = (text: string): boolean => {
  // What stands beside the text must not count.
  const source = Buffer.from(`["${text}"]0`);
  return isJson(source, 2, source.length - 3);
};

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

it('accepts what the parser accepts', () => {
  const piece = fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '""',
      '"a":',
      '\\',
      '\\"',
      '\\u00',
      '\\u00e9',
      '\\x',
      'é',
      '\n',
      ' ',
    ],
    ...[
      '0',
      '1',
      '01',
      '-',
      '-0',
      '.',
      '.5',
      '1.',
      'e',
      'E+1',
      '1e5',
      'true',
      'tru',
      'false',
      'null',
      'nul',
      '\u0000',
    ],
  );
  const texts = fc.oneof(
    fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
    fc.json().map((text) => text.replaceAll(',', ' ,\t').replaceAll(':', '\r: ')),
    fc.tuple(fc.json(), fc.nat(), piece).map(([text, at, wrong]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + wrong + text.slice(place);
    }),
  );
  const property = fc.property(texts, (text) => {
    expect(check(text)).toBe(parses(text));
  });
  fc.assert(property, { numRuns: scaled(5_000, 500_000) });
});

it('takes any depth, and nothing without a value', () => {
  const depth = 100_000;
  expect(check('['.repeat(depth) + ']'.repeat(depth))).toBe(true);
  expect(check('{"a":'.repeat(depth) + '}'.repeat(depth))).toBe(false);
  expect(check(`${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`)).toBe(true);
  expect(['', ' ', '1 2', '[}', '{"a":1]', '[1'].map(check)).toEqual(Array(6).fill(false));
});
