import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../../tests/support/growth.ts';
import type { Learner } from '../../../src/classifiers/learner.ts';
import { createLearners } from '../../../src/classifiers/model/online-learner.ts';
import { noPause, restored as restoredOf } from './restored.ts';

const learners = createLearners();

const topics: Record<string, string[]> = {
  tea: ['green tea leaves', 'a pot of black tea', 'tea with milk', 'oolong and jasmine tea'],
  coffee: ['espresso and filter coffee', 'roasted coffee beans', 'a cup of coffee', 'cold brew coffee'],
  cocoa: ['hot cocoa with cream', 'dark cocoa powder', 'cocoa for children', 'sweet cocoa'],
};

const examples = Object.entries(topics).flatMap(([label, texts]) => texts.map((text) => ({ label, text })));

function train(all: { label: string; text: string }[]): Learner {
  const learner = learners.create();
  for (const { label, text } of all) learner.learn(label, text);
  return learner;
}

const best = (learner: Learner, text: string) => learner.predict(text)[0]?.classId;

describe('a classifier', () => {
  it('predicts nothing before its first example', () => {
    expect(learners.create().predict('anything')).toEqual([]);
  });

  it('learns one example at a time', () => {
    const learner = train(examples);
    expect(best(learner, 'jasmine tea please')).toBe('tea');
    expect(best(learner, 'espresso beans')).toBe('coffee');
    expect(best(learner, 'cocoa powder')).toBe('cocoa');
  });

  it('gives probabilities that sum to 1, most likely first', () => {
    const learner = train(examples);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const scores = learner.predict(text);
        expect(scores.reduce((sum, { confidence }) => sum + confidence, 0)).toBeCloseTo(1, 9);
        const confidences = scores.map(({ confidence }) => confidence);
        expect(confidences).toEqual(confidences.toSorted((a, b) => b - a));
      }),
      { numRuns: 50 },
    );
  });

  it('predicts the class shares for an unknown text, ties by class id', () => {
    const learner = train([...examples, { label: 'tea', text: 'more tea' }]);
    const scores = learner.predict('');
    expect(scores.map(({ classId }) => classId)).toEqual(['tea', 'cocoa', 'coffee']);
    expect(scores[0]?.confidence).toBeCloseTo(5 / 13, 9);
  });

  it('predicts the same after the same calls, and after a snapshot', async () => {
    const [a, b] = [train(examples), train(examples)];
    const restored = await restoredOf(learners, train(examples.slice(0, 7)));
    for (const { label, text } of examples.slice(7)) restored.learn(label, text);
    for (const text of ['tea', 'a cup of something', 'cream']) {
      expect(b.predict(text)).toEqual(a.predict(text));
      expect(restored.predict(text)).toEqual(a.predict(text));
    }
  });

  it('forgets a class', async () => {
    const learner = train(examples);
    await learner.forget('tea', noPause);
    expect(
      learner
        .predict('green tea')
        .map(({ classId }) => classId)
        .sort(),
    ).toEqual(['cocoa', 'coffee']);
    await learner.forget('never there', noPause);
    for (const label of ['cocoa', 'coffee']) await learner.forget(label, noPause);
    expect(learner.predict('green tea')).toEqual([]);
    learner.learn('new', 'green tea');
    expect(best(learner, 'tea')).toBe('new');
  });

  it('accepts any label and word', () => {
    const names = ['__proto__', 'constructor', 'toString', 'length', '', '😀', 'שלום', 'x'.repeat(200)];
    const learner = train(
      names.flatMap((label, i) => [1, 2].map((n) => ({ label, text: `word${i} ${label} ${n}` }))),
    );
    for (const [i, label] of names.entries()) expect(best(learner, `word${i}`)).toBe(label);
    expect(Object.prototype).not.toHaveProperty('0');
  });

  it.each([
    ['Chinese', '我想喝一杯绿茶', '请给我咖啡豆'],
    ['Thai', 'ฉันอยากดื่มชาเขียว', 'ขอเมล็ดกาแฟหน่อย'],
    ['German', 'Ich möchte Grüntee trinken', 'Bitte geröstete Kaffeebohnen'],
    ['Arabic', 'أريد شرب الشاي الأخضر', 'من فضلك حبوب القهوة'],
  ])('learns %s', (_language, tea, coffee) => {
    const learner = train(
      [1, 2, 3].flatMap(() => [
        { label: 'tea', text: tea },
        { label: 'coffee', text: coffee },
      ]),
    );
    expect([best(learner, tea.slice(2)), best(learner, coffee.slice(2))]).toEqual(['tea', 'coffee']);
  });

  it('reads a run of different marks in no longer time', () => {
    const learner = train(examples);
    const before = process.cpuUsage();
    for (const first of ['a', '漢a', 'a', '漢a']) learner.predict(first + '\u0344\u0323'.repeat(9_990));
    // Sorting the marks took half a second each.
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
  });

  it.each(['-', ' ', 'a', '.', '\u0301', '😀', 'ﷺ'])(
    'reads 100,000 times %j in linear time',
    async (character) => {
      const learner = train(examples);
      await expectLinear((size) => {
        learner.learn('tea', character.repeat(size));
        learner.predict(character.repeat(size));
      }, 100_000);
    },
  );
});
