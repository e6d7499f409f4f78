import { expect, it } from 'vitest';
import { indented } from '../../../src/ui/grid/indented.ts';

it('indents JSON whatever spaces it came with, and keeps its digits', () => {
  const lines = '{\n  "n": 1.50,\n  "list": [\n    1,\n    "a, {b} \\" c"\n  ]\n}';
  expect(indented('{"n": 1.50, "list": [1, "a, {b} \\" c"]}')).toBe(lines);
  expect(indented('{"n":1.50,"list":[1,"a, {b} \\" c"]}')).toBe(lines);
  expect(indented(' text')).toBe(' text');
  expect(indented('{"empty": { }, "none": []}')).toBe('{\n  "empty": {},\n  "none": []\n}');
});
