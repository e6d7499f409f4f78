import { expect, it } from 'vitest';
import { breakOf, fromField } from '../../../src/ui/editor/line-breaks.ts';

it.each([
  ['a\nb', undefined],
  ['a\r\nb\r\n', '\r\n'],
  ['a\r\nb\n', '\n'],
  ['a\rb', '\n'],
  ['\na\r\n', '\n'],
])('finds the breaks of %j: %j', (text, breaks) => {
  expect(breakOf(text)).toBe(breaks);
});

it('gives a field the breaks that it began with', () => {
  expect(fromField('a\nb', 'a\r\nb')).toBe('a\r\nb');
  expect(fromField('a\nb\nc', 'a\r\nb')).toBe('a\r\nb\r\nc');
  expect(fromField('a\nb', 'a\rb')).toBe('a\rb');
  expect(fromField('a\nc', 'a\nb')).toBe('a\nc');
});
