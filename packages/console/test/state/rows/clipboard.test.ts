import { expect, it } from 'vitest';
import { toClipboard } from '../../../src/state/rows/clipboard.ts';

const fieldOf = (value: unknown) => toClipboard([[JSON.stringify(value)]]).text;

it.each([
  ['a text', 'a text'],
  ['say "so"', 'say "so"'],
  ['"quoted"', '"""quoted"""'],
  ['two\nlines', '"two\nlines"'],
  ['a\tb', '"a\tb"'],
  ['', '""'],
  [null, ''],
  [-12.5, '-12.5'],
  ['-12.5', '-12.5'],
  ['=1+1', "'=1+1"],
  ['+49 30', "'+49 30"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['-cmd', "'-cmd"],
  ['\t=1', `"'\t=1"`],
  ['\r=1', `"'\r=1"`],
])('copies %j as the field %j', (value, field) => {
  expect(fieldOf(value)).toBe(field);
});

it('keeps the digits of numbers, and counts what it guarded', () => {
  const rows = [
    ['9007199254740993', '"=a"', undefined],
    ['null', '""', '{"a":1}'],
  ];
  expect(toClipboard(rows)).toEqual({ text: `9007199254740993\t'=a\t\n\t""\t{"a":1}`, guarded: 1 });
});
