import { expect, it } from 'vitest';
import { digestsOfRow, KnownExamples } from '../../src/classifiers/known-examples.ts';
import { noPause } from './model/restored.ts';

const row = (i: number, text = `text ${i}`) => digestsOfRow({ queryId: 'q', id: String(i) }, text);

it('finds examples by query and id, also after growing and in a copy', () => {
  const known = new KnownExamples();
  for (let i = 0; i < 10_000; i++) known.set(row(i), `class ${i % 7}`, { event: i + 1, index: i % 5 });
  known.set(row(3, 'changed'), 'class 1', { event: 10_001, index: 2 });
  const copy = new KnownExamples(structuredClone(known.state));
  for (const one of [known, copy]) {
    expect(one.size).toBe(10_000);
    expect(one.find(row(9_999))).toEqual({
      ...{ classId: `class ${9_999 % 7}`, isSameText: true },
      place: { event: 10_000, index: 4 },
    });
    expect(one.find(row(3))).toEqual({
      ...{ classId: 'class 1', isSameText: false },
      place: { event: 10_001, index: 2 },
    });
    expect(one.find(digestsOfRow({ queryId: 'other', id: '3' }, 'changed'))).toBeUndefined();
  }
});

it('forgets a class', async () => {
  const known = new KnownExamples();
  for (let i = 0; i < 1_000; i++) known.set(row(i), `class ${i % 4}`, { event: 1, index: i });
  await known.forget('class 2', noPause);
  await known.forget('unknown', noPause);
  expect(known.size).toBe(750);
  for (let i = 0; i < 1_000; i++) expect(known.find(row(i)) === undefined).toBe(i % 4 === 2);
  known.set(row(2), 'class 2', { event: 2, index: 0 });
  expect(known.find(row(2))?.classId).toBe('class 2');
});
