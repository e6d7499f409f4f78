import { expect, it } from 'vitest';
import { createRandom } from '../../../../../tests/support/random.ts';
import { createLearners } from '../../../src/classifiers/model/online-learner.ts';

const learners = createLearners();

/** Texts of 50 topics, with too few examples of each to hold any out. */
function makeExamples(count: number, random: () => number): { label: string; text: string }[] {
  const pick = (from: number, size: number) => `word${from + Math.floor(random() ** 2 * size)}`;
  return Array.from({ length: count }, () => {
    const topic = Math.floor(random() * 50);
    const words = Array.from({ length: 9 }, () =>
      random() < 0.35 ? pick(1_000 + topic * 30, 60) : pick(0, 400),
    );
    return { label: `topic ${topic}`, text: words.join(' ') };
  });
}

it('is calibrated before any example is held out', () => {
  const random = createRandom(3);
  const learner = learners.create();
  for (const { label, text } of makeExamples(650, random)) learner.learn(label, text);
  const asked = makeExamples(400, random);
  let [right, sure] = [0, 0];
  for (const { label, text } of asked) {
    const [best] = learner.predict(text);
    if (best?.classId === label) right++;
    sure += best?.confidence ?? 0;
  }
  expect(right / asked.length).toBeGreaterThan(0.4);
  expect(Math.abs(sure - right) / asked.length).toBeLessThan(0.06);
});

/** Texts of four topics, from hard to easy. About one label of twenty is wrong. */
function makeMislabelled(count: number, random: () => number): { label: string; text: string }[] {
  return Array.from({ length: count }, () => {
    const topic = Math.floor(random() * 4);
    const share = random() * random();
    const words = Array.from({ length: 10 }, () =>
      random() < share
        ? `topic${topic}word${Math.floor(random() * 40)}`
        : `word${Math.floor(random() ** 2 * 300)}`,
    );
    const label = random() < 0.06 ? Math.floor(random() * 4) : topic;
    return { label: `topic ${label}`, text: words.join(' ') };
  });
}

it('is never certain while labels are wrong, and still as sure as it is right', () => {
  const random = createRandom(3);
  const learner = learners.create();
  for (const { label, text } of makeMislabelled(2_500, random)) learner.learn(label, text);
  const asked = makeMislabelled(2_000, random).map(({ label, text }) => {
    const [best] = learner.predict(text);
    return { isRight: best?.classId === label, confidence: best?.confidence ?? 0 };
  });
  const right = asked.filter(({ isRight }) => isRight).length;
  const sure = asked.reduce((sum, { confidence }) => sum + confidence, 0);
  expect(Math.abs(sure - right) / asked.length).toBeLessThan(0.02);
  expect(Math.max(...asked.map(({ confidence }) => confidence))).toBeLessThan(0.995);
});
