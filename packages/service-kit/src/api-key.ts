/**
 * API keys: `dhk_`, 32 characters of base 32 (160 random bits), and 6 of a checksum, so that a mistyped key is known
 * as such without a look-up, and a leaked one is found by its shape. A key given by an operator may have any shape of
 * at least 32 URL-safe characters.
 */

import { createHash, hash, randomBytes } from 'node:crypto';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const prefix = 'dhk_';
const ownShape = /^dhk_[0-9a-hjkmnp-tv-z]{38}$/;
const givenShape = /^[A-Za-z0-9_-]{32,256}$/;

/** True for what an operator may set as a key. */
export function isGivenKeyShape(key: string): boolean {
  return givenShape.test(key);
}

/** False for a text that no key can be; such a text is refused without asking anybody. */
export function isPossibleKey(key: string): boolean {
  if (!givenShape.test(key)) return false;
  // A given key may start with our prefix too, but not with our whole shape and a wrong checksum.
  return !ownShape.test(key) || key.slice(-6) === checksum(key.slice(0, -6));
}

export function createApiKey(): string {
  const body = prefix + base32(randomBytes(20));
  return body + checksum(body);
}

/** SHA-256 in hexadecimal: keys are too random to be guessed from it, so no slow hash is needed. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'hex');
}

function checksum(body: string): string {
  return base32(createHash('sha256').update('datahub-key-checksum:').update(body).digest()).slice(0, 6);
}

function base32(bytes: Buffer): string {
  let bits = 0;
  let value = 0;
  let text = '';
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(value >> bits) & 31];
    }
  }
  return text;
}
