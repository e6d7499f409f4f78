import { expect, it } from 'vitest';
import { labelName } from '../../src/state/annotation.ts';
import { RowStore } from '../../src/state/rows/row-store.ts';

it('names the column of labels as no column of the rows', () => {
  expect(labelName('mail', ['id', 'body'])).toBe('mail');
  expect(labelName('mail', ['mail', 'mail 2Confidence'])).toBe('mail 3');
  expect(labelName(' ', [])).toBe('label');
});

it('shows a correction in place of a label, also when rows are sorted', async () => {
  const store = new RowStore([{ name: 'body', type: 'text' }], 'topic');
  const row = (body: string, topic: string, confidence: number) =>
    `{"body":"${body}","topic":"${topic}","topicConfidence":${confidence}}`;
  store.add([row('b', 'x', 0.5), row('a', 'y', 0.9)]);
  expect(store.columns.map(({ added }) => added)).toEqual([undefined, 'label', 'confidence']);
  store.correct(0, 'z "quoted"');
  await store.arrange({ sort: { column: 0, descending: false }, filter: '' }, () => true);
  expect(store.cells(0)).toEqual(['"a"', '"y"', '0.9']);
  expect(store.cells(1)).toEqual(['"b"', '"z \\"quoted\\""', undefined]);
});
