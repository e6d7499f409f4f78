import { createPublicKey, randomBytes, verify } from 'node:crypto';
import { expect, it } from 'vitest';
import { signEd25519 } from '../../../src/engines/mysql/ed25519.ts';

/** What MariaDB stores for `PASSWORD('secret')`. */
const stored = 'ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY';
const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(stored, 'base64')]);
const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });

it('signs a nonce so that the key that MariaDB stores for the password verifies it', () => {
  for (let i = 0; i < 20; i++) {
    const nonce = randomBytes(32);
    expect(verify(null, nonce, key, signEd25519('secret', Buffer.concat([nonce, Buffer.alloc(i % 2)])))).toBe(
      true,
    );
    expect(verify(null, nonce, key, signEd25519('secret ', nonce))).toBe(false);
  }
});

it('refuses a nonce that is too short', () => {
  expect(() => signEd25519('secret', randomBytes(31))).toThrow(RangeError);
});
