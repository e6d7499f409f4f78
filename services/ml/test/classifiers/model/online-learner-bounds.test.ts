import { expect, it } from 'vitest';
import { createLearners } from '../../../src/classifiers/model/online-learner.ts';
import { restored as restoredOf } from './restored.ts';

const learners = createLearners();

/** Texts in which hardly any word is repeated. */
function* textsOfNewWords(count: number): Generator<string> {
  let next = 0;
  for (let i = 0; i < count; i++)
    yield Array.from({ length: 2_500 }, () => (next++ * 2_654_435_761).toString(36)).join(' ');
}

const mebibyte = 1_048_576;

it('a classifier uses at most 70 MiB for texts of new words', async () => {
  const learner = learners.create();
  let i = 0;
  for (const text of textsOfNewWords(400)) {
    learner.learn(`class ${i % 200}`, `topic${i % 200} ${text}`);
    i++;
  }
  const { size } = learner;
  process.stdout.write(`400 texts of 2,500 new words: ${(size / mebibyte).toFixed(1)} MiB\n`);
  expect(size).toBeLessThan(70 * mebibyte);
  expect(learner.predict('topic7')[0]?.classId).toBe('class 7');
  const restored = await restoredOf(learners, learner);
  for (const one of [learner, restored]) one.learn('class 7', 'topic7 and words that are new');
  expect(restored.predict('topic7 words')).toEqual(learner.predict('topic7 words'));
});
