/**
 * API keys: `dhk_`, 32 base-32 characters (160 random bits), and a checksum of 6 characters, which detects mistyped keys
 * without a lookup. Secret scanners find a leaked key by its format. An operator can also set a key of at least 32
 * URL-safe characters.
 */

import { createHash, hash, randomBytes } from 'node:crypto';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const prefix = 'dhk_';
const generatedFormat = /^dhk_[0-9a-hjkmnp-tv-z]{38}$/;
const tokenPrefixes = { mcp: 'dha.', api: 'dhl_' } as const;
const tokenFormat = /^(dha\.|dhl_)[0-9a-hjkmnp-tv-z]{38}$/;
const allowedFormat = /^[A-Za-z0-9_-]{32,256}$/;

/** True if an operator may set the text as a key. Generated keys have this form, too. */
export function isAllowedKey(key: string): boolean {
  return allowedFormat.test(key);
}

/** False for a text that cannot be a key, so that it is rejected without a lookup. */
export function isPossibleKey(key: string): boolean {
  if (!allowedFormat.test(key)) return false;
  // An operator's key may start with the prefix, but not match the whole format with a wrong checksum.
  return !generatedFormat.test(key) || key.slice(-6) === checksum(key.slice(0, -6));
}

/**
 * What a text can be: `chosen`, a key of an operator, who may have chosen a bad one; `random`, a key or token with 160
 * random bits, which nobody guesses; or `malformed`, which is rejected without a lookup.
 */
export type KeyForm = 'chosen' | 'random' | 'malformed';

export function formOfKey(text: string): KeyForm {
  if (audienceOfToken(text) !== undefined) return 'random';
  if (!isPossibleKey(text)) return 'malformed';
  return generatedFormat.test(text) ? 'random' : 'chosen';
}

export function createApiKey(): string {
  return create(prefix);
}

/**
 * A token that an agent uses as a key, at `/mcp` or at the API. The text says where, so that no other place accepts it:
 * a key never has a dot.
 */
export function createAgentToken(audience: 'mcp' | 'api'): string {
  return create(tokenPrefixes[audience]);
}

/** Where a text would be accepted if it is the token of an agent; undefined for any other text. */
export function audienceOfToken(text: string): 'mcp' | 'api' | undefined {
  const found = tokenFormat.exec(text)?.[1];
  if (found === undefined || text.slice(-6) !== checksum(text.slice(0, -6))) return undefined;
  return found === tokenPrefixes.mcp ? 'mcp' : 'api';
}

function create(start: string): string {
  const body = start + base32(randomBytes(20));
  return body + checksum(body);
}

/** SHA-256 in hexadecimal. Keys have too much entropy to be guessed from it, so no slow hash is needed. */
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
