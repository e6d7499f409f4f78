/** X25519 for the HPKE library, with Node's key objects, which the library passes on without inspecting them. */

import {
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  type webcrypto,
} from 'node:crypto';

import { toArrayBuffer } from './array-buffer.ts';

type Key = webcrypto.CryptoKey;

/** RFC 8410: the fixed prefixes of a private and a public key, before their 32 bytes. */
const pkcs8Prefix = Buffer.from('302e020100300506032b656e04220420', 'hex');
const spkiPrefix = Buffer.from('302a300506032b656e032100', 'hex');
const keyBytes = 32;

export const x25519 = {
  generateKeyPair: async () => {
    const { publicKey, privateKey } = generateKeyPairSync('x25519');
    return { publicKey: asKey(publicKey), privateKey: asKey(privateKey) };
  },
  /** Accepts private keys too. */
  serializePublicKey: async (key: Key) => memberOf(key, 'x'),
  serializePrivateKey: async (key: Key) => memberOf(key, 'd'),
  deserializePublicKey: async (bytes: ArrayBuffer) => {
    // The parser would ignore further bytes.
    if (bytes.byteLength !== keyBytes) throw new RangeError(`A public key has ${keyBytes} bytes.`);
    // As PEM, because for an object Node first checks by exceptions whether it is a key, which costs more than the rest.
    const key = Buffer.concat([spkiPrefix, new Uint8Array(bytes)]).toString('base64');
    return asKey(createPublicKey(`-----BEGIN PUBLIC KEY-----\n${key}\n-----END PUBLIC KEY-----`));
  },
  deserializePrivateKey: async (bytes: ArrayBuffer) => {
    const key = Buffer.concat([pkcs8Prefix, new Uint8Array(bytes)]);
    return asKey(createPrivateKey({ key, format: 'der', type: 'pkcs8' }));
  },
  /** Throws if the peer's key yields an all-zero secret, as RFC 7748 requires. */
  dh: async (privateKey: Key, publicKey: Key) => {
    const keys = { privateKey: asObject(privateKey), publicKey: asObject(publicKey) };
    return toArrayBuffer(diffieHellman(keys));
  },
};

const asKey = (key: KeyObject) => key as unknown as Key;
const asObject = (key: Key) => key as unknown as KeyObject;

function memberOf(key: Key, name: 'x' | 'd'): ArrayBuffer {
  const text = (asObject(key).export({ format: 'jwk' }) as JsonWebKey)[name] ?? '';
  return toArrayBuffer(Buffer.from(text, 'base64url'));
}
