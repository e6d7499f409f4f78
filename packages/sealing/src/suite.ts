/**
 * HPKE's cipher suite for envelopes: the library's protocol with Node's synchronous primitives. WebCrypto sends each of the
 * fifteen steps of an envelope to a thread and back, which costs several times as much as the step. Opening or sealing
 * blocks the event loop, so callers with many envelopes must yield in between.
 */

import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { Aes256Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from '@hpke/core';
import { toArrayBuffer } from './array-buffer.ts';
import { x25519 } from './x25519.ts';

type Bytes = ArrayBufferLike | ArrayBufferView;

export function createSuite(): CipherSuite {
  return new CipherSuite({ kem: new Kem(), kdf: new Hkdf(), aead: new Aead() });
}

/** RFC 9180, 4.1: `KEM` and the number of DHKEM(X25519, HKDF-SHA256). */
const kemSuiteId = Uint8Array.of(0x4b, 0x45, 0x4d, 0x00, 0x20);
const firstBlock = Uint8Array.of(1);
const cipherName = 'aes-256-gcm';
const tagBytes = 16;

class Kem extends DhkemX25519HkdfSha256 {
  constructor() {
    super();
    this._kdf = new Hkdf();
    this._kdf.init(kemSuiteId);
    Object.assign(this._prim, x25519);
  }
}

/** RFC 5869, limited to one block, which is all this suite needs. */
class Hkdf extends HkdfSha256 {
  override async extract(salt: Bytes, ikm: Bytes): Promise<ArrayBuffer> {
    return hmac(salt, ikm).buffer;
  }

  override async expand(prk: Bytes, info: Bytes, length: number): Promise<ArrayBuffer> {
    if (length > this.hashSize) throw new RangeError('HKDF is limited to one block here.');
    return hmac(prk, info, firstBlock).buffer.slice(0, length);
  }

  override async extractAndExpand(
    ...[salt, ikm, info, length]: Parameters<HkdfSha256['extractAndExpand']>
  ): Promise<ArrayBuffer> {
    return this.expand(await this.extract(salt, ikm), info, length);
  }
}

function hmac(key: Bytes, ...parts: Bytes[]): Uint8Array<ArrayBuffer> {
  const mac = createHmac('sha256', secretOf(key));
  for (const part of parts) mac.update(toView(part));
  return new Uint8Array(mac.digest());
}

class Aead extends Aes256Gcm {
  override createEncryptionContext(key: Bytes): ReturnType<Aes256Gcm['createEncryptionContext']> {
    const secret = secretOf(key);
    return {
      seal: async (iv, data, aad) => {
        const cipher = createCipheriv(cipherName, secret, toView(iv)).setAAD(toView(aad));
        return toArrayBuffer(
          Buffer.concat([cipher.update(toView(data)), cipher.final(), cipher.getAuthTag()]),
        );
      },
      open: async (iv, data, aad) => {
        const sealed = toView(data);
        const decipher = createDecipheriv(cipherName, secret, toView(iv), { authTagLength: tagBytes });
        decipher.setAAD(toView(aad)).setAuthTag(sealed.subarray(-tagBytes));
        return toArrayBuffer(
          Buffer.concat([decipher.update(sealed.subarray(0, -tagBytes)), decipher.final()]),
        );
      },
    };
  }
}

/** Node's functions check twice whether bytes are a key object, by exceptions that cost more than the cipher. */
function secretOf(bytes: Bytes): KeyObject {
  return createSecretKey(toView(bytes));
}

function toView(bytes: Bytes): Uint8Array {
  if (!ArrayBuffer.isView(bytes)) return new Uint8Array(bytes);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
