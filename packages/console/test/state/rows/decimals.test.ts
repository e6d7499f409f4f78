import { expect, it } from 'vitest';
import { combined, shareOf, tickTexts } from '../../../src/state/rows/decimals.ts';

it('adds and averages texts without losing a digit', () => {
  expect(combined(['1.50', '-0.5', '1e2'], 'sum')).toBe('101.00');
  expect(combined(['-1', '0.999'], 'sum')).toBe('-0.001');
  expect(combined(['1.50'], 'sum')).toBe('1.50');
  expect(combined(['1', '2'], 'mean')).toBe('1.5');
  expect(combined(['1', '3'], 'mean')).toBe('2');
  expect(combined(['0', '0', '-2'], 'mean')).toBe('≈ -0.666667');
  expect(combined(['1', 'NaN'], 'sum')).toBe('NaN');
  expect(combined(['1', 'Infinity', '2'], 'mean')).toBe('Infinity');
  expect(combined(['Infinity', '-Infinity'], 'sum')).toBe('NaN');
  expect(combined(['9007199254740993', '9007199254740992', 'NaN'], 'min')).toBe('9007199254740992');
  expect(combined(['9007199254740992', '9007199254740993'], 'max')).toBe('9007199254740993');
});

it('says what share of a sum a part is', () => {
  expect(shareOf('1', '3')).toBe('33.3 %');
  expect(shareOf('9007199254740993', '9007199254740993')).toBe('100.0 %');
  expect(shareOf('1', '0')).toBeUndefined();
});

it.each([
  [
    [0, 2_500_000, 5_000_000],
    ['0', '2,500,000', '5,000,000'],
  ],
  [
    [0, 10_000_000, 25_000_000],
    ['0', '10M', '25M'],
  ],
  [
    [9_007_199_254_740_992, 9_007_199_254_740_994],
    ['9,007,199,254,740,992', '9,007,199,254,740,994'],
  ],
  [
    [0.1, 0.15],
    ['0.1', '0.15'],
  ],
  [
    [1e300, 2e300],
    ['1e+300', '2e+300'],
  ],
  [
    [-1e-7, 0],
    ['-0.0000001', '0'],
  ],
])('writes the ticks %j with all their digits', (values, texts) => {
  expect(tickTexts(values)).toEqual(texts);
});
