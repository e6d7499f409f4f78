/**
 * Keys that users or servers choose. They are used, and some already read, by computations on the main thread whose time
 * grows with the numbers in them: an RSA key of 32,000 bits signs for 12 s, and a DSA key of 16,000 bits is read for as
 * long. So their kinds and numbers are bounded before a library reads them.
 */

import { keyNames, pemOf, tags, wholePoint } from './der.ts';

const { integer, bitString, octets, oid, sequence, parameters, publicPoint } = tags;

/** Of the largest curve that has a name. */
const scalarBytesMax = 72;

/** With a zero before the number: RSA of 4,096 bits, which signs in some 20 ms. */
export const rsaBytesMax = { modulus: 513, prime: 257, publicExponent: 9 };
/** Ed25519 and Ed448. */
const edwards = new Set(['2b6570', '2b6571']);
const block = /-----BEGIN ((?:RSA |EC )?PRIVATE KEY)-----([A-Za-z0-9+/=\s]+)-----END \1-----/;

/** The first key in this PEM, without anything else. Undefined if it is of another kind, or too large. */
export function usableKey(pem: string): string | undefined {
  const [, label, body = ''] = block.exec(pem) ?? [];
  if (label === undefined) return undefined;
  const der = Buffer.from(body, 'base64');
  try {
    const key = new Reader(der).enter(sequence);
    if (label === 'PRIVATE KEY') requirePkcs8(key);
    else if (label === 'RSA PRIVATE KEY') requireRsa(key);
    else requireEc(key, true);
  } catch {
    return undefined;
  }
  return pemOf(label, der);
}

const publicBlock = /^-----BEGIN PUBLIC KEY-----\s([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----[\s\0]*$/;

/** Whether this is one public RSA key in PEM, and nothing else, that is not too large. */
export function isUsablePublicKey(pem: string): boolean {
  const [, body = ''] = publicBlock.exec(pem) ?? [];
  try {
    const key = new Reader(Buffer.from(body, 'base64')).enter(sequence);
    const name = key.enter(sequence).next(oid).toString('hex');
    // After the number of unused bits.
    const numbers = new Reader(key.next(bitString).subarray(1)).enter(sequence);
    const [modulus, exponent] = [numbers.next(integer), numbers.next(integer)];
    return (
      name === keyNames.rsa &&
      modulus.length <= rsaBytesMax.modulus &&
      exponent.length <= rsaBytesMax.publicExponent
    );
  } catch {
    return false;
  }
}

function requirePkcs8(key: Reader): void {
  key.next(integer);
  const algorithm = key.enter(sequence);
  const name = algorithm.next(oid).toString('hex');
  if (edwards.has(name)) return;
  const content = key.enter(octets).enter(sequence);
  if (name === keyNames.rsa) requireRsa(content);
  else if (name === keyNames.ec && algorithm.next(oid)) requireEc(content, false);
  else throw unusable();
}

function requireRsa(key: Reader): void {
  const { modulus, prime, publicExponent } = rsaBytesMax;
  const numbers = [1, modulus, publicExponent, modulus, prime, prime, prime, prime, prime];
  for (const bytesMax of numbers) {
    if (key.next(integer).length > bytesMax) throw unusable();
  }
  // A key may have more than two primes, of any size.
  if (!key.isEmpty) throw unusable();
}

/** Its curve has a name: reading the parameters of others is costly. */
function requireEc(key: Reader, namesCurve: boolean): void {
  key.next(integer);
  if (key.next(octets).length > scalarBytesMax) throw unusable();
  if (namesCurve || key.tag === parameters) key.enter(parameters).next(oid);
  // The point of the public key, which is costly to read if it lacks a coordinate.
  if (key.isEmpty) return;
  if (key.enter(publicPoint).next(bitString)[1] !== wholePoint) throw unusable();
}

const unusable = () => new RangeError('This is no key that the hub uses.');

/** Reads DER. */
class Reader {
  #at = 0;
  readonly #der: Buffer;

  constructor(der: Buffer) {
    this.#der = der;
  }

  get tag(): number | undefined {
    return this.#der[this.#at];
  }

  get isEmpty(): boolean {
    return this.#at >= this.#der.length;
  }

  /** The content of the next element. */
  next(tag: number): Buffer {
    if (this.tag !== tag) throw unusable();
    const first = this.#der[this.#at + 1] ?? 0;
    const more = first < 0x80 ? 0 : first - 0x80;
    if (more > 2) throw unusable();
    const from = this.#at + 2 + more;
    const bytes =
      more === 0 ? first : this.#der.subarray(this.#at + 2, from).reduce((sum, byte) => sum * 256 + byte, 0);
    this.#at = from + bytes;
    if (this.#at > this.#der.length || first === 0x80) throw unusable();
    return this.#der.subarray(from, this.#at);
  }

  enter(tag: number): Reader {
    return new Reader(this.next(tag));
  }
}
