import { expect, test } from 'vitest';
import { expectLinear } from '../../../../../tests/support/growth.ts';
import { cuesOf } from '../../../src/summaries/extractive/features.ts';

test.each([
  ['"We are glad," she said.', true],
  ["He said: ' it was a fine day for all of us. '", true],
  ['« Nous sommes contents », dit-elle.', true],
  ["The players' wages rose, and so did the club's debts.", false],
  ['The film "Harbour" opens next week in all the cinemas of the town.', false],
])('recognizes speech: %s', (text, speech) => {
  expect(cuesOf(text).speech).toBe(speech);
});

test.each([
  ['We recently found that harbours grow.', true],
  ['This paper tells how harbours grow.', true],
  ['Harbours grow, and nobody knows why.', false],
])('recognizes statements of the authors about their work: %s', (text, cue) => {
  expect(cuesOf(text).cue).toBe(cue);
});

test.each(['"', "'", ' “', 'we ', 'we aly', 'this '])('reads 100 kB of %j in linear time', (unit) =>
  expectLinear((size) => cuesOf(unit.repeat(size / unit.length)), 100_000),
);
