import { expect, it } from 'vitest';
import { toHeaderText } from '../../src/execution/execute.ts';

it('names at most 10 in 1 KiB, then counts, and holds nothing that a header cannot', () => {
  expect(toHeaderText(['a', 'b,+ c\r\n', '\ud800'])).toBe('a,b%2C%2B%20c%0D%0A,%EF%BF%BD');
  expect(toHeaderText(Array.from({ length: 13 }, (_, i) => `n${i}`))).toMatch(/^n0,.*,n9,\+3$/);
  const long = toHeaderText(['a', '語'.repeat(200), 'b']);
  expect(long).toBe('a,+2');
  expect(toHeaderText(['x'.repeat(2_000_000)])).toBe('+1');
});
