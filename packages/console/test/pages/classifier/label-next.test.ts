import { expect, it } from 'vitest';
import { wordsOfEnd } from '../../../src/pages/classifier/label-next.ts';

const doneOf = (size: number) => new Set(Array.from({ length: size }, (_, i) => String(i)));

it.each([
  [{ all: 3, isCut: false }, 3, 'Every text has been labelled or skipped.'],
  [
    { all: 1_000, isCut: true },
    1_000,
    'The first 1,000 texts have been labelled or skipped. There are more, which were not looked through.',
  ],
  [{ all: 3_412, isCut: false }, 120, 'The 100 least certain of 3,412 texts have been labelled or skipped.'],
])('says which texts were labelled or skipped: %j', (asked, done, words) => {
  expect(wordsOfEnd(asked, doneOf(done))).toBe(words);
});
