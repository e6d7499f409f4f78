/**
 * The log-in of MariaDB's plugin `ed25519`: an Ed25519 signature (RFC 8032) of the server's nonce. Its secret is the hash
 * of the password, which has any length. `node:crypto` signs only with seeds of 32 bytes.
 */

import { createHash } from 'node:crypto';
import { Point } from '@noble/ed25519';

/** The client's name of the plugin. */
export const ed25519Plugin = 'client_ed25519';

const nonceBytes = 32;
/** The order of the base point. */
const order = Point.CURVE().n;

export function signEd25519(password: string, data: Buffer): Buffer {
  if (data.length < nonceBytes) throw new RangeError('The nonce of the server is too short.');
  // A zero byte may follow.
  const nonce = data.subarray(0, nonceBytes);
  const secret = sha512(Buffer.from(password));
  const scalar = toNumber(clamp(secret.subarray(0, 32)));
  const key = multiplyBase(scalar);
  const once = toNumber(sha512(secret.subarray(32), nonce));
  const commitment = multiplyBase(once);
  const challenge = toNumber(sha512(commitment, key, nonce));
  return Buffer.concat([commitment, toBytes((once + challenge * scalar) % order)]);
}

function clamp(secret: Buffer): Buffer {
  const bytes = Buffer.from(secret);
  bytes[0] = (bytes[0] as number) & 248;
  bytes[31] = ((bytes[31] as number) & 63) | 64;
  return bytes;
}

const sha512 = (...parts: Buffer[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha512')).digest();
const multiplyBase = (scalar: bigint) => Buffer.from(Point.BASE.multiply(scalar % order).toBytes());

/** Numbers are little-endian. */
const toNumber = (bytes: Buffer) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
const toBytes = (number: bigint) => Buffer.from(number.toString(16).padStart(64, '0'), 'hex').reverse();
