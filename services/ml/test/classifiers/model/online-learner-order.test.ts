import { expect, it } from 'vitest';
import { createRandom } from '../../../../../tests/support/random.ts';
import { scaled } from '../../../../../tests/support/scale.ts';
import { createLearners } from '../../../src/classifiers/model/online-learner.ts';

const learners = createLearners();

interface Example {
  label: string;
  text: string;
}

/** Texts of eight topics: words of the topic among common words, so no model is always right. */
function makeExamples(count: number, random: () => number): Example[] {
  const pick = (from: number, size: number) => `word${from + Math.floor(random() ** 2 * size)}`;
  return Array.from({ length: count }, () => {
    const topic = Math.floor(random() * 8);
    const words = Array.from({ length: 8 }, () =>
      random() < 0.25 ? pick(1_000 + topic * 60, 90) : pick(0, 300),
    );
    return { label: `topic ${topic}`, text: words.join(' ') };
  });
}

function shuffle(examples: Example[], random: () => number): Example[] {
  const shuffled = [...examples];
  for (let i = shuffled.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [shuffled[i], shuffled[j]] = [shuffled[j] as Example, shuffled[i] as Example];
  }
  return shuffled;
}

it('reaches about the same accuracy in any order of training', () => {
  const random = createRandom(7);
  const known = makeExamples(scaled(2_000, 6_000), random);
  const asked = makeExamples(scaled(2_000, 6_000), random);
  const orders = {
    'as generated': known,
    shuffled: shuffle(known, random),
    'shuffled again': shuffle(known, random),
    'sorted by class': known.toSorted((a, b) => (a.label < b.label ? -1 : a.label > b.label ? 1 : 0)),
    reversed: known.toReversed(),
  };
  const accuracies = Object.entries(orders).map(([order, examples]) => {
    const learner = learners.create();
    for (const { label, text } of examples) learner.learn(label, text);
    const right = asked.filter(({ label, text }) => learner.predict(text)[0]?.classId === label).length;
    return { order, accuracy: (100 * right) / asked.length };
  });
  const values = accuracies.map(({ accuracy }) => accuracy);
  process.stdout.write(
    `${accuracies.map(({ order, accuracy }) => `${order}: ${accuracy.toFixed(1)} %`).join(', ')}\n`,
  );
  expect(Math.min(...values)).toBeGreaterThan(60);
  expect(Math.max(...values)).toBeLessThan(99);
  // In percentage points. The test set is too small to tell smaller differences from chance.
  expect(Math.max(...values) - Math.min(...values)).toBeLessThan(scaled(2, 1.5));
});
