import { isDeepStrictEqual } from 'node:util';
import { deserialize } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../../../tests/support/random.ts';
import type { Learner } from '../../../src/classifiers/learner.ts';
import { createLearners } from '../../../src/classifiers/model/online-learner.ts';
import { bytesOf, noPause, restored as restoredOf } from './restored.ts';

const learners = createLearners();

interface Example {
  label: string;
  text: string;
}

/** Long and short texts of six topics in rotation: words of the topic among common words. */
function makeExamples(count: number, random: () => number): Example[] {
  const pick = (from: number, size: number) => `word${from + Math.floor(random() ** 2 * size)}`;
  return Array.from({ length: count }, (_, i) => {
    const words = Array.from({ length: 6 + Math.floor(random() * 18) }, () =>
      random() < 0.2 ? pick(1_000 + (i % 6) * 100, 60) : pick(0, 400),
    );
    return { label: `topic ${i % 6}`, text: words.join(' ') };
  });
}

function train(examples: readonly Example[]): Learner {
  const learner = learners.create();
  for (const { label, text } of examples) learner.learn(label, text);
  return learner;
}

/** In %: the accuracy, and the mean confidence minus the accuracy. */
function test(learner: Learner, asked: readonly Example[]): { accuracy: number; gap: number } {
  let [right, sure] = [0, 0];
  for (const { label, text } of asked) {
    const [best] = learner.predict(text);
    if (best?.classId === label) right++;
    sure += best?.confidence ?? 0;
  }
  return { accuracy: (100 * right) / asked.length, gap: (100 * (sure - right)) / asked.length };
}

describe('a classifier of few examples', () => {
  const seeds = [1, 2, 3, 4, 5, 6];
  const mean = (perClass: number) => {
    const results = seeds.map((seed) => {
      const random = createRandom(seed);
      const learner = train(makeExamples(6 * perClass, random));
      return test(learner, makeExamples(300, random));
    });
    const of = (key: 'accuracy' | 'gap') => results.reduce((sum, one) => sum + one[key], 0) / seeds.length;
    return { accuracy: of('accuracy'), gap: of('gap') };
  };

  it.each([
    { perClass: 5, least: 66, gapMax: 5 },
    { perClass: 20, least: 84, gapMax: 3 },
  ])('is accurate and calibrated with $perClass examples per class', ({ perClass, least, gapMax }) => {
    const { accuracy, gap } = mean(perClass);
    expect(accuracy).toBeGreaterThan(least);
    expect(Math.abs(gap)).toBeLessThan(gapMax);
  });

  it('is as confident after three more examples as before', () => {
    const random = createRandom(2);
    const [examples, asked] = [makeExamples(300, random), makeExamples(60, random)];
    const learner = train(examples.slice(0, 240));
    const confidence = () =>
      (100 * asked.reduce((sum, { text }) => sum + (learner.predict(text, 1)[0]?.confidence ?? 0), 0)) /
      asked.length;
    const changes: number[] = [];
    for (let at = 240; at < 300; at += 3) {
      const before = confidence();
      for (const { label, text } of examples.slice(at, at + 3)) learner.learn(label, text);
      changes.push(Math.abs(confidence() - before));
    }
    expect(changes.reduce((sum, change) => sum + change, 0) / changes.length).toBeLessThan(0.8);
  });

  it('is never almost certain after 15 examples', () => {
    const texts: Record<string, string[]> = {
      delivery: ['where is my parcel', 'my order has not arrived yet', 'the delivery is late'],
      refund: ['I want my money back', 'please refund my last order', 'I would like a refund'],
      praise: ['the coffee is wonderful', 'great service, thank you', 'I love your tea'],
    };
    const examples = Object.entries(texts).flatMap(([label, some]) => some.map((text) => ({ label, text })));
    const learner = train([...examples, ...examples.slice(0, 6)]);
    const [best] = learner.predict('where is my parcel');
    expect(best?.classId).toBe('delivery');
    expect(best?.confidence).toBeGreaterThan(0.8);
    expect(best?.confidence).toBeLessThan(0.985);
    const sum = learner.predict('my parcel').reduce((all, { confidence }) => all + confidence, 0);
    expect(sum).toBeCloseTo(1, 10);
  });

  it('is less confident the more words of a text are new', () => {
    const learner = train(makeExamples(30, createRandom(1)));
    const [known] = learner.predict('word1000 word1001');
    const [strange] = learner.predict('word1000 word1001 and then some words that nobody has ever said');
    expect(strange?.classId).toBe(known?.classId);
    expect(strange?.confidence).toBeLessThan(known?.confidence ?? 0);
  });

  it('continues the same after a snapshot, also beyond few examples', async () => {
    const examples = makeExamples(500, createRandom(2));
    const [asked] = makeExamples(1, createRandom(3));
    const learner = train(examples.slice(0, 300));
    const restored = await restoredOf(learners, learner);
    for (const { label, text } of examples.slice(300)) {
      expect(restored.predict(asked?.text ?? '')).toEqual(learner.predict(asked?.text ?? ''));
      for (const one of [learner, restored]) one.learn(label, text);
    }
    // The same number can have other bytes, because V8 writes an integer as it happens to hold it.
    const states = [train(examples), learner].map(async (one) => deserialize(await bytesOf(one)));
    const [fresh, continued] = await Promise.all(states);
    expect(isDeepStrictEqual(fresh, continued)).toBe(true);
  });

  it('keeps its accuracy after it forgets a class', async () => {
    const examples = makeExamples(60, createRandom(4));
    const learner = train(examples);
    await learner.forget('topic 0', noPause);
    for (const { label, text } of makeExamples(60, createRandom(5))) learner.learn(label, text);
    const { accuracy } = test(learner, makeExamples(120, createRandom(6)));
    expect(learner.predict('word1').length).toBe(6);
    expect(accuracy).toBeGreaterThan(60);
  });
});
