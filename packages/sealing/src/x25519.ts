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

/** RFC 8410: the fixed heads of a private and a public key, then the 32 bytes. */
const pkcs8Head = Buffer.from('302e020100300506032b656e04220420', 'hex');
const spkiHead = Buffer.from('302a300506032b656e032100', 'hex');
const keyBytes = 32;

export const x25519 = {
  generateKeyPair: async () => {
    const { publicKey, privateKey } = generateKeyPairSync('x25519');
    return { publicKey: asKey(publicKey), privateKey: asKey(privateKey) };
  },
  /** Also of a private key. */
  serializePublicKey: async (key: Key) => memberOf(key, 'x'),
  serializePrivateKey: async (key: Key) => memberOf(key, 'd'),
  deserializePublicKey: async (bytes: ArrayBuffer) => {
    // What follows a key's end would be overlooked.
    if (bytes.byteLength !== keyBytes) throw new RangeError(`A public key has ${keyBytes} bytes.`);
    // As text: of an object Node asks in vain whether it is a key, by exceptions that cost more than all the rest.
    const key = Buffer.concat([spkiHead, new Uint8Array(bytes)]).toString('base64');
    return asKey(createPublicKey(`-----BEGIN PUBLIC KEY-----\n${key}\n-----END PUBLIC KEY-----`));
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
