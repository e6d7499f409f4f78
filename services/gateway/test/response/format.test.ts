import { expect, it } from 'vitest';
import { expectLinear } from '../../../../tests/support/growth.ts';
import { preferredFormat } from '../../src/response/format.ts';

it('reads weights with blanks around them', () => {
  const csv = preferredFormat('text/csv');
  expect(csv).toBeDefined();
  expect(preferredFormat('application/json ; q=0.4 , text/csv; charset=utf-8 ; q=0.5')).toBe(csv);
});

it('reads a long list of formats in linear time', () =>
  expectLinear((size) => preferredFormat(`text/csv${' '.repeat(size)}x`), 160_000));
