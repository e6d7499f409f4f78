import { expect, it } from 'vitest';
import { AnnotationBatch } from '../../src/response/annotation-batch.ts';
import { ArrowLabels } from '../../src/response/arrow-labels.ts';

it('counts what short rows take in memory beside their bytes', () => {
  const batch = new AnnotationBatch();
  for (let i = 0; i < 100; i++) batch.add(Buffer.from('{}'), ['a']);
  expect(batch.bytes).toBeGreaterThan(100 * 100);
});

it.each([
  [{ delimiter: ';' }, '1;late;"a;b";0.5\r\n'],
  [{ delimiter: ';', decimal: ',' }, '1;late;"a;b";0,5\r\n'],
  [{ decimal: ',' }, '1;late,a;b,"0,5"\r\n'],
] as const)('fields of CSV are written as the call asks: %j', (csv, line) => {
  const batch = new AnnotationBatch();
  batch.add(Buffer.from('1;late'), ['late']);
  const labels = [[{ label: 'a;b', confidence: 0.5 }]];
  const members = [{ text: 'note', as: 'topic' }];
  const bytes = batch.toBytes('csv', { members, labels, csv, arrow: new ArrowLabels(1) });
  expect(bytes.toString()).toBe(line);
});
