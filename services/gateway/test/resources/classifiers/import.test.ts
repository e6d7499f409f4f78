import { expect, it } from 'vitest';
import { nextBatchSize } from '../../../src/resources/classifiers/import.ts';

it.each([
  [500, 200, 500],
  [500, 10_000, 250],
  [250, 40_000, 31],
  [31, 1_000, 155],
  [1, 60_000, 1],
  [3, 0, 500],
])('an import of whose examples %i took %i ms sends %i in the next batch', (examples, ms, next) => {
  expect(nextBatchSize(examples, ms)).toBe(next);
});
