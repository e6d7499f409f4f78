import { expect, it } from 'vitest';
import { createLearners } from '../../../src/classifiers/model/online-learner.ts';

const learners = createLearners();

it('learns an example of the 4,000th new class with as little work as one of the 2,000th', () => {
  const learner = learners.create();
  const learn = (from: number, to: number) => {
    const startedAt = process.cpuUsage();
    for (let i = from; i < to; i++)
      learner.learn(`class ${i}`, `a text of class ${i} with the number ${i * 7_919}`);
    const { user, system } = process.cpuUsage(startedAt);
    return user + system;
  };
  learn(0, 1_000);
  const second = learn(1_000, 2_000);
  learn(2_000, 3_000);
  // If each example cost the number of classes, it would be about twice as much.
  expect(learn(3_000, 4_000)).toBeLessThan(1.4 * second);
  const [best] = learner.predict(`number ${1_234 * 7_919}`, 1);
  expect(best?.classId).toBe('class 1234');
});

it('continues as before after a restart, with more classes than one prediction for each example allows', () => {
  const learner = learners.create();
  for (let i = 0; i < 1_300; i++) learner.learn(`class ${i}`, `common word${i}`);
  const restored = learners.restore(learner.toBytes());
  for (const one of [learner, restored])
    for (let i = 0; i < 60; i++) one.learn(`class ${i}`, `another common word${i}`);
  expect(restored.predict('common word7', 5)).toEqual(learner.predict('common word7', 5));
});
