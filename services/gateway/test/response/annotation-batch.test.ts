import { expect, it } from 'vitest';
import { AnnotationBatch } from '../../src/response/annotation-batch.ts';

it('counts what short rows take in memory beside their bytes', () => {
  const batch = new AnnotationBatch();
  for (let i = 0; i < 100; i++) batch.add(Buffer.from('{}'), ['a']);
  expect(batch.bytes).toBeGreaterThan(100 * 100);
});
