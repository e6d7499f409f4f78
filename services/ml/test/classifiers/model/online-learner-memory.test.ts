import { expect, it } from 'vitest';
import { heldBytes } from '../../../../../tests/support/memory.ts';
import { createRandom } from '../../../../../tests/support/random.ts';
import { createLearners } from '../../../src/classifiers/model/online-learner.ts';

const learners = createLearners();

/** Texts of 40 topics: words of the topic among common words, half of which are rare. */
function makeExample(i: number, random: () => number): { label: string; text: string } {
  const words = Array.from({ length: 12 }, () => {
    if (random() < 0.2) return `topic${i % 40}word${Math.floor(random() * 20)}`;
    return `word${Math.floor(random() ** 3 * 6_000)}`;
  });
  return { label: `topic ${i % 40}`, text: words.join(' ') };
}

it('uses at most 16 MiB for 3,000 texts of 40 classes', () => {
  const random = createRandom(11);
  // The first classifier of a process loads the tables of word vectors, which all share.
  learners.create().learn('a', 'a text');
  const before = heldBytes();
  const learner = learners.create();
  for (let i = 0; i < 3_000; i++) {
    const { label, text } = makeExample(i, random);
    learner.learn(label, text);
  }
  const heldMiB = (heldBytes() - before) / 1_048_576;
  process.stdout.write(`3,000 texts, 40 classes: ${heldMiB.toFixed(1)} MiB\n`);
  expect(heldMiB).toBeLessThan(16);
  expect(learner.predict('topic7word1 topic7word2')[0]?.classId).toBe('topic 7');
});
