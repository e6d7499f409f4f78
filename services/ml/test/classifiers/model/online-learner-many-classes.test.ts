import { expect, it } from 'vitest';
import { createLearners } from '../../../src/classifiers/model/online-learner.ts';
import { restored as restoredOf } from './restored.ts';

const learners = createLearners();

it('learns an example of the 4,000th new class with as little work as one of the 2,000th', () => {
  const learner = learners.create();
  const learn = (from: number, to: number) => {
    const startedAt = process.threadCpuUsage();
    for (let i = from; i < to; i++)
      learner.learn(`class ${i}`, `a text of class ${i} with the number ${i * 7_919}`);
    return process.threadCpuUsage(startedAt).user;
  };
  /** The least of ten, because some of them collect the garbage of others. */
  const learnAThousand = (from: number) =>
    Math.min(...Array.from({ length: 10 }, (_, i) => learn(from + i * 100, from + (i + 1) * 100)));
  learnAThousand(0);
  const second = learnAThousand(1_000);
  learnAThousand(2_000);
  // If each example cost the number of classes, it would be about three times as much.
  expect(learnAThousand(3_000)).toBeLessThan(2 * second);
  const [best] = learner.predict(`number ${1_234 * 7_919}`, 1);
  expect(best?.classId).toBe('class 1234');
});

it('continues as before after a restart, with more classes than one prediction for each example allows', async () => {
  const learner = learners.create();
  for (let i = 0; i < 1_300; i++) learner.learn(`class ${i}`, `common word${i}`);
  const restored = await restoredOf(learners, learner);
  for (const one of [learner, restored])
    for (let i = 0; i < 60; i++) one.learn(`class ${i}`, `another common word${i}`);
  expect(restored.predict('common word7', 5)).toEqual(learner.predict('common word7', 5));
});
