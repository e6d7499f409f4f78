import { expect, it } from 'vitest';
import { cutText } from '../src/limits.ts';

it('cuts a text between characters', () => {
  expect(['a😀b', 'ab', '😀'].map((text) => cutText(text, 2))).toEqual(['a', 'ab', '😀']);
});
