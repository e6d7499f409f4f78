import { expect, it } from 'vitest';
import { confidenceText, shareOf } from '../../src/ui/format.ts';

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
