import { expect, it } from 'vitest';
import { beginningOf, grouped, membersOf, textOf } from '../../../src/state/rows/scan.ts';

it.each([
  ['{}', [], []],
  ['{"a":1}', ['a'], ['1']],
  ['{"a":1.50,"b":12345678901234567890,"c":null}', ['a', 'b', 'c'], ['1.50', '12345678901234567890', 'null']],
  ['{"a\\"b":"x\\\\","c":"\\"},{"}', ['a"b', 'c'], ['"x\\\\"', '"\\"},{"']],
  ['{"o":{"x":[1,{"y":"]}"}]},"l":[],"t":true}', ['o', 'l', 't'], ['{"x":[1,{"y":"]}"}]}', '[]', 'true']],
])('splits %s', (line, names, values) => expect(membersOf(line)).toEqual({ names, values }));

it.each([
  ['"a"', 'a'],
  ['"\\u00e9\\n"', 'é\n'],
  ['1.10', '1.10'],
])('reads %s', (json, text) => expect(textOf(json)).toBe(text));

it.each([
  ['1234', '1,234'],
  ['-1234567.8900', '-1,234,567.8900'],
  ['123', '123'],
  ['1e21', '1e21'],
  ['0012', '0,012'],
])('groups %s', (text, drawn) => expect(grouped(text)).toBe(drawn));

it.each([[String.raw`"C:\\dir\\file"`], [String.raw`"a\\\\\"b\n\u00e9\ud83d\ude00\/"`]])(
  'cuts %s within no escape',
  (json) => {
    const whole = textOf(json);
    for (let at = 0; at <= json.length; at++) expect(whole).toContain(textOf(beginningOf(json, at)));
    expect(textOf(beginningOf(json, json.length - 1))).toBe(whole);
  },
);
