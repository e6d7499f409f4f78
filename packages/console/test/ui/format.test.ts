import { expect, it } from 'vitest';
import { bytes, confidenceText, duration, percent, shareOf } from '../../src/ui/format.ts';

it.each([
  [1, 8, '8 of 8 (68 % or more)'],
  [0.875, 8, '7 of 8 (53 to 98 %)'],
  [0, 8, '0 of 8 (32 % or less)'],
  [1, 1, '1 of 1 (21 % or more)'],
  [0.98, 100, '98 %'],
])('writes a share of %d of %d cases as %s', (share, cases, text) =>
  expect(shareOf(share, cases)).toBe(text),
);

it('never calls a prediction certain or impossible', () => {
  const texts = ['over 99 %', 'over 99 %', '99 %', '1 %', 'under 1 %', 'under 1 %'];
  expect([1, 0.9999, 0.99, 0.005, 0.0049, 0].map(confidenceText)).toEqual(texts);
});

it.each([
  [0, '0 %'],
  [0.0004, 'under 0.1 %'],
  [0.031, '3.1 %'],
  [0.97, '97 %'],
  [0.9991, '99.9 %'],
  [0.9996, 'over 99.9 %'],
  [1, '100 %'],
])('rounds a share of %d to %s, and only none and all to 0 and 100', (share, text) =>
  expect(percent(share)).toBe(text),
);

it.each([
  [0, '0.0 ms'],
  [0.01, 'under 0.1 ms'],
  [9.97, '10 ms'],
  [999.6, '1.00 s'],
  [59_900, '59.9 s'],
  [3_600_000, '60 min'],
])('writes %d ms as %s', (ms, text) => expect(duration(ms)).toBe(text));

it.each([
  [999, '999 B'],
  [1_000, '1.0 kB'],
  [678_800, '678.8 kB'],
  [1_048_576, '1.0 MB'],
  [2_500_000_000, '2.5 GB'],
])('writes %d bytes as %s', (value, text) => expect(bytes(value)).toBe(text));
