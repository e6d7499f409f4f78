import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { looksLikeMask, maskPassword, maskUser } from '../src/secret-mask.ts';

describe('masks', () => {
  it.each([
    ['', '********'],
    ['a', 'a********'],
    ['root', 'r********'],
    ['admin', 'ad********'],
    ['😀😀😀😀😀', '😀😀********'],
  ])('shows a lead of the user %j', (user, mask) => expect(maskUser(user)).toBe(mask));

  it.each([
    ['', '********'],
    ['abc', '********'],
    ['abcd', 'a********'],
    ['a-very-long-password', 'a********'],
  ])('shows a lead of the password %j', (password, mask) => expect(maskPassword(password)).toBe(mask));

  it('never tells the length, and every mask is known as one', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 5, maxLength: 64 }), (text) => {
        if (text.startsWith('*')) return;
        expect([...maskPassword(text)]).toHaveLength(9);
        expect(looksLikeMask(maskPassword(text))).toBe(true);
      }),
    );
  });

  it.each(['********', 'a********', 'ab********'])('knows the mask %j', (text) =>
    expect(looksLikeMask(text)).toBe(true),
  );

  it.each(['', 'abc', '*******', '*********', 'abc********', 'a*******b', 'a***'])(
    'takes %j for a secret',
    (text) => expect(looksLikeMask(text)).toBe(false),
  );
});
