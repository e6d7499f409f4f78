/** Compares the key that a bastion shows with the one that its source expects. */

import { createHash } from 'node:crypto';
import { type HostKey, readHostKey } from '@datahub/contract/source-settings';
import type { ServerHostKeyAlgorithm } from 'ssh2';

/** Without SHA-1. The order is that of preference. */
const algorithms: readonly ServerHostKeyAlgorithm[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
];

/** A bastion can have keys of several types, so it is asked for the type of the key that is expected. */
export function algorithmsFor({ type }: HostKey): ServerHostKeyAlgorithm[] {
  if (type === undefined) return [...algorithms];
  return algorithms.filter((name) => (type === 'ssh-rsa' ? name.startsWith('rsa-') : name === type));
}

/** Such as `SHA256:Vf9…`, as `ssh-keygen -l` writes it. */
export const fingerprintOf = (key: Buffer): string =>
  `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;

export function matches(key: Buffer, expected: HostKey): boolean {
  if (expected.fingerprint !== undefined) return fingerprintOf(key) === `SHA256:${expected.fingerprint}`;
  return expected.key !== undefined && Buffer.from(expected.key, 'base64').equals(key);
}

/** The catalog has checked the text; one that it did not check matches no key. */
export const expectedKey = (text: string): HostKey => readHostKey(text) ?? {};
