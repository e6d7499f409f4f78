/** Private keys for bastions, in the format of OpenSSH or in PEM, with bounds as those of keys for TLS. */

import { rsaBytesMax, usableKey } from './usable-keys.ts';

const block = /^-----BEGIN OPENSSH PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END /;
const magicBytes = 15;
const checkBytes = 8;
const { modulus, prime, publicExponent } = rsaBytesMax;
/** The numbers of an RSA key: the modulus, both exponents, the coefficient and the primes. */
const rsaNumbers = [modulus, publicExponent, modulus, prime, prime, prime];
const otherTypes = /^(ssh-ed25519|ecdsa-sha2-nistp(256|384|521))$/;

/** Whether the key is of a known kind, and not too large. */
export function isUsableSshKey(text: string): boolean {
  const [, body] = block.exec(text) ?? [];
  if (body === undefined) return usableKey(text) !== undefined;
  try {
    return isUsable(Buffer.from(body, 'base64').subarray(magicBytes));
  } catch {
    return false;
  }
}

function isUsable(file: Buffer): boolean {
  const outer = new Strings(file);
  // The cipher, the function that derives its key, and the options of this.
  for (let i = 0; i < 3; i++) outer.next();
  if (outer.number() !== 1) return false;
  outer.next();
  const key = new Strings(outer.next().subarray(checkBytes));
  const type = key.next().toString();
  if (type === 'ssh-rsa') return rsaNumbers.every((bytesMax) => key.next().length <= bytesMax);
  return otherTypes.test(type);
}

/** Texts that follow their lengths. Throws at the end. */
class Strings {
  #at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  number(): number {
    this.#at += 4;
    return this.#bytes.readUInt32BE(this.#at - 4);
  }

  next(): Buffer {
    const from = this.#at + 4;
    this.#at = from + this.#bytes.readUInt32BE(this.#at);
    if (this.#at > this.#bytes.length) throw new RangeError('The key ends too early.');
    return this.#bytes.subarray(from, this.#at);
  }
}
