import { expect, it } from 'vitest';
import { isMet } from '../../src/watches/condition.ts';

const met = (cell: string, is: string, value: string) => isMet({ column: 'v', is, valueJson: value }, cell);

it.each([
  ['9007199254740993', '=', '9007199254740993'],
  // A long number comes as a text.
  ['"9007199254740993"', '=', '9007199254740993'],
  ['"10000000000000000"', '>', '"9007199254740993"'],
  ['"18446744073709551615"', '>', '18446744073709551614'],
  ['"0.1234567890123456789"', '<', '0.123456789012345679'],
  ['1.0', '=', '1'],
  ['-5e-7', '<', '0'],
  ['7', '>', '"6.5"'],
  ['"Infinity"', '>=', '5'],
  ['"-Infinity"', '<', '-1e308'],
  ['"2026-01-01T00:00:00.500Z"', '>', '"2026-01-01T00:00:00Z"'],
  ['"2026-01-01T00:00:00.000000Z"', '=', '"2026-01-01T01:00:00+01:00"'],
  ['"2026-01-01T00:00:00.123456"', '>', '"2026-01-01T00:00:00.123"'],
  ['"2026-02-01"', '>', '"2026-01-31"'],
  ['"b"', '>', '"a"'],
  ['"007"', '!=', '"7"'],
  ['true', '=', '"true"'],
])('%s %s %s', (cell, is, value) => {
  expect(met(cell, is, value)).toBe(true);
});

it.each([
  ['"9007199254740993"', '>', '9007199254740993'],
  ['null', '!=', '1'],
  ['"NaN"', '!=', '1'],
])('not %s %s %s', (cell, is, value) => {
  expect(met(cell, is, value)).toBe(false);
});

it.each([
  ['"12 kg"', '>', '5'],
  ['5', '=', '"many"'],
  ['true', '=', '1'],
])('refuses %s %s %s', (cell, is, value) => {
  expect(() => met(cell, is, value)).toThrow('cannot be compared');
});
