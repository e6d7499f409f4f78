import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createApiKey, hashApiKey, isAllowedKey, isPossibleKey } from '../src/api-key.ts';

describe('an API key', () => {
  it('is recognised, never twice the same, and has a checksum', () => {
    const keys = Array.from({ length: 1_000 }, createApiKey);
    expect(new Set(keys).size).toBe(1_000);
    for (const key of keys) {
      expect(key).toMatch(/^dhk_[0-9a-hjkmnp-tv-z]{38}$/);
      expect(isPossibleKey(key)).toBe(true);
      expect(isAllowedKey(key)).toBe(true);
    }
  });

  it('with any one character changed is known to be wrong', () => {
    const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 41 }), fc.constantFrom(...alphabet), (at, character) => {
        const key = createApiKey();
        if (key[at] === character) return;
        expect(isPossibleKey(key.slice(0, at) + character + key.slice(at + 1))).toBe(false);
      }),
    );
  });

  it.each(['', 'short', 'a'.repeat(31), 'a'.repeat(257), `${'a'.repeat(40)} `, `${'a'.repeat(40)}\n`])(
    'cannot be %j',
    (text) => expect(isPossibleKey(text)).toBe(false),
  );

  it('of an earlier hub stays one', () => {
    expect(isPossibleKey('dhk_akjk10976c14h3yggb7f80jq8hesz4v2yt6tn5')).toBe(true);
    expect(isPossibleKey('dhk_akjk10976c14h3yggb7f80jq8hesz4v2yt6tn6')).toBe(false);
  });

  it('that only begins or ends like our own is none of our own, and needs no checksum', () => {
    const wrong = `dhk_${'0'.repeat(38)}`;
    expect(isPossibleKey(wrong)).toBe(false);
    for (const key of [`x${wrong}`, `${wrong}x`, `${wrong}u`, wrong.toUpperCase()]) {
      expect(isPossibleKey(key)).toBe(true);
    }
  });

  it('may be brought by the operator, with or without our prefix', () => {
    expect(isPossibleKey('my-own_key-0123456789-0123456789')).toBe(true);
    expect(isPossibleKey('dhk_my-own-0123456789-0123456789')).toBe(true);
  });

  it('is kept as a hash', () => {
    expect(hashApiKey('a')).toBe('ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb');
  });
});
