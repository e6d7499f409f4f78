/** Writes keys and certificates that no library writes. */

import { randomBytes } from 'node:crypto';

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

export const sequence = (...parts: Buffer[]): Buffer => tagged(0x30, Buffer.concat(parts));
export const octets = (content: Buffer): Buffer => tagged(0x04, content);
export const bits = (content: Buffer): Buffer => tagged(0x03, Buffer.concat([Buffer.alloc(1), content]));
export const oid = (hex: string): Buffer => tagged(0x06, Buffer.from(hex, 'hex'));
export const integer = (bytes: Buffer): Buffer => tagged(0x02, Buffer.concat([Buffer.alloc(1), bytes]));
export const small = (value: number): Buffer => tagged(0x02, Buffer.from([value]));

/** An odd number of so many bits. */
export function odd(bitCount: number): Buffer {
  const bytes = randomBytes(bitCount / 8);
  bytes[0] = (bytes[0] ?? 0) | 0x80;
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 1;
  return bytes;
}

export { pemOf as pem } from '../../../src/network/handshake/der.ts';

const text = (value: string): Buffer => tagged(0x0c, Buffer.from(value));
const time = (value: string): Buffer => tagged(0x17, Buffer.from(value));
const ecdsa = sequence(oid('2a8648ce3d040302'));
const name = sequence(tagged(0x31, sequence(oid('550403'), text('x'))));

/** A certificate of this public key. Its signature is not valid. */
export const certificate = (publicKey: Buffer): Buffer => {
  const validity = sequence(time('250101000000Z'), time('490101000000Z'));
  return sequence(sequence(small(1), ecdsa, name, validity, name, publicKey), ecdsa, bits(Buffer.alloc(8)));
};

/** A key of the curve P-256 whose parameters are written out, and whose point lacks a coordinate. */
export function explicitKey(): Buffer {
  const prime = Buffer.from('ffffffff00000001000000000000000000000000ffffffffffffffffffffffff', 'hex');
  const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
  const a = Buffer.from('ffffffff00000001000000000000000000000000fffffffffffffffffffffffc', 'hex');
  const b = Buffer.from('5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b', 'hex');
  const base = Buffer.from('036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296', 'hex');
  const field = sequence(oid('2a8648ce3d0101'), integer(prime));
  const parameters = sequence(small(1), field, sequence(octets(a), octets(b)), octets(base), integer(order));
  return sequence(sequence(oid('2a8648ce3d0201'), parameters), bits(base));
}

/** A key of P-256 whose point lacks a coordinate. */
export function compressedKey(): Buffer {
  const base = Buffer.from('036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296', 'hex');
  return sequence(sequence(oid('2a8648ce3d0201'), oid('2a8648ce3d030107')), bits(base));
}

/** A private key whose public number is computed when it is read. */
export const dsaKey = (bitCount: number): Buffer =>
  sequence(
    small(0),
    sequence(oid('2a8648ce380401'), sequence(integer(odd(bitCount)), integer(odd(bitCount)), small(2))),
    octets(integer(odd(bitCount))),
  );
