import { describe, expect, it } from 'vitest';
import { createEvaluation } from '../../src/classifiers/evaluation.ts';

const sure = (classId: string) => ({ classId, confidence: 0.9 });

describe('an evaluation', () => {
  it('counts precision, recall, support and confusions', () => {
    const evaluation = createEvaluation();
    for (const [actual, predicted] of ['aa', 'aa', 'ab', 'ba', 'bb', 'cb', 'ca']) {
      evaluation.record(actual as string, sure(predicted as string));
    }
    const { figures } = evaluation;
    expect(figures).toMatchObject({ examples: 7, accuracy: 3 / 7 });
    expect(figures.classes).toEqual([
      { classId: 'a', support: 3, precision: 2 / 4, recall: 2 / 3 },
      { classId: 'b', support: 2, precision: 1 / 3, recall: 1 / 2 },
      { classId: 'c', support: 2, precision: undefined, recall: 0 },
    ]);
    expect(figures.confusion).toEqual({
      classIds: ['a', 'b', 'c'],
      counts: [
        [2, 1, 0],
        [1, 1, 0],
        [1, 1, 0],
      ],
    });
  });

  it('tells the last 1,000 examples apart', () => {
    const evaluation = createEvaluation();
    for (let i = 0; i < 3_000; i++) evaluation.record('a', sure(i < 2_000 ? 'b' : 'a'));
    expect(evaluation.figures).toMatchObject({ examples: 3_000, accuracy: 1 / 3 });
    expect(evaluation.recentFigures).toMatchObject({ examples: 1_000, accuracy: 1 });
    expect(evaluation.recentFigures.calibrationError).toBeCloseTo(0.1, 9);
    expect(evaluation.recentFigures.classes).toEqual([
      { classId: 'a', support: 1_000, precision: 1, recall: 1 },
    ]);
  });

  it('leaves out the examples of a forgotten class', () => {
    const evaluation = createEvaluation();
    for (const pair of ['aa', 'ba', 'bb', 'ab']) {
      evaluation.record(pair[0] as string, sure(pair[1] as string));
    }
    evaluation.forget('b');
    for (const figures of [evaluation.figures, evaluation.recentFigures]) {
      expect(figures).toMatchObject({ examples: 2, accuracy: 1 / 2 });
      expect(figures.classes.find(({ classId }) => classId === 'a')).toEqual({
        classId: 'a',
        support: 2,
        precision: 1,
        recall: 1 / 2,
      });
      expect(figures.confusion).toEqual({ classIds: ['a'], counts: [[1]] });
    }
  });

  it('shows the 20 largest classes, and takes bounded memory however many are confused', () => {
    const evaluation = createEvaluation();
    for (let i = 0; i < 500; i++) {
      for (let k = 1; k <= 150; k++) evaluation.record(`c${i}`, sure(`c${(i + k) % 500}`));
    }
    for (let i = 0; i < 25; i++) evaluation.record(`c${i}`, sure(`c${i}`));
    const { confusion, classes } = evaluation.figures;
    expect(classes).toHaveLength(500);
    expect(classes[0]).toMatchObject({ support: 151, recall: 1 / 151, precision: 1 / 151 });
    expect(confusion.classIds).toHaveLength(20);
    expect(confusion.counts[0]?.[1]).toBe(1);
    expect(evaluation.size).toBeLessThan(65_536 * 64 + 500 * 160 + 1_000 * 64 + 1);
  });
});
