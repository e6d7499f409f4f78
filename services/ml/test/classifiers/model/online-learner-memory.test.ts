import { expect, it } from 'vitest';
import { heldBytes } from '../../../../../tests/support/memory.ts';
import { createRandom } from '../../../../../tests/support/random.ts';
import { learners } from '../../../src/classifiers/model/online-learner.ts';

/** Of 40 topics, with words of their own among words of all, half of these rare. */
function makeExample(i: number, random: () => number): { label: string; text: string } {
  const words = Array.from({ length: 12 }, () => {
    if (random() < 0.2) return `topic${i % 40}word${Math.floor(random() * 20)}`;
    return `word${Math.floor(random() ** 3 * 6_000)}`;
  });
  return { label: `topic ${i % 40}`, text: words.join(' ') };
}

it('takes little memory for what it has learnt', () => {
  const random = createRandom(11);
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
}, 60_000);
