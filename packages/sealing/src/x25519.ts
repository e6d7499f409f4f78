/** X25519 as HPKE's library asks for it. Its keys are Node's, which it hands around without a look into them. */

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

/** RFC 8410: the fixed head of a private key, then its 32 bytes. */
const pkcs8Head = Buffer.from('302e020100300506032b656e04220420', 'hex');

export const x25519 = {
  generateKeyPair: async () => {
    const { publicKey, privateKey } = generateKeyPairSync('x25519');
    return { publicKey: asKey(publicKey), privateKey: asKey(privateKey) };
  },
  /** Also of a private key. */
  serializePublicKey: async (key: Key) => memberOf(key, 'x'),
  serializePrivateKey: async (key: Key) => memberOf(key, 'd'),
  deserializePublicKey: async (bytes: ArrayBuffer) => {
    const x = Buffer.from(bytes).toString('base64url');
    return asKey(createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' }));
  },
  deserializePrivateKey: async (bytes: ArrayBuffer) => {
    const key = Buffer.concat([pkcs8Head, new Uint8Array(bytes)]);
    return asKey(createPrivateKey({ key, format: 'der', type: 'pkcs8' }));
  },
  /** Throws where the other's key leaves no secret, as RFC 7748 asks. */
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
