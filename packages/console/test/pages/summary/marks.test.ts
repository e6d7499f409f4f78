import { expect, it } from 'vitest';
import { marksOf } from '../../../src/pages/summary/marks.ts';

it('marks what the summary took, across line breaks', () => {
  const source = 'The cat sat. The dog\nran home. It rained.';
  expect(marksOf(source, 'The dog ran home.')).toEqual([
    { text: 'The cat sat. ', marked: false },
    { text: 'The dog\nran home. ', marked: true },
    { text: 'It rained.', marked: false },
  ]);
});

it('marks nothing where nothing was taken', () => {
  expect(marksOf('One. Two.', 'Three.').some(({ marked }) => marked)).toBe(false);
});
