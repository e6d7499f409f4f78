/** Opens the records of a handshake of TLS 1.3 (RFC 8446, 5.2 and 7.3). */

import { type CipherGCMTypes, createDecipheriv, createHmac } from 'node:crypto';

interface Suite {
  cipher: string;
  hash: string;
  keyBytes: number;
}

/** By their number. The hub offers no others. */
const suites: Record<number, Suite> = {
  4865: { cipher: 'aes-128-gcm', hash: 'sha256', keyBytes: 16 },
  4866: { cipher: 'aes-256-gcm', hash: 'sha384', keyBytes: 32 },
  4867: { cipher: 'chacha20-poly1305', hash: 'sha256', keyBytes: 32 },
};
const ivBytes = 12;
const tagBytes = 16;
const headBytes = 5;

/** The end of a record's content is its type, and zeros may follow. */
export interface Opened {
  type: number;
  content: Buffer;
}

/** Returns a function that opens one record after the other; undefined for an unknown suite. It throws for others. */
export function createOpener(suiteId: number, secret: Buffer): ((record: Buffer) => Opened) | undefined {
  const suite = suites[suiteId];
  if (suite === undefined) return undefined;
  const key = expand(suite.hash, { secret, label: 'key', bytes: suite.keyBytes });
  const iv = expand(suite.hash, { secret, label: 'iv', bytes: ivBytes });
  let sequence = 0;
  return (record) => {
    const nonce = Buffer.from(iv);
    nonce.writeUInt32BE((nonce.readUInt32BE(ivBytes - 4) ^ sequence++) >>> 0, ivBytes - 4);
    const decipher = createDecipheriv(suite.cipher as CipherGCMTypes, key, nonce, {
      authTagLength: tagBytes,
    });
    decipher.setAAD(record.subarray(0, headBytes));
    decipher.setAuthTag(record.subarray(-tagBytes));
    const padded = Buffer.concat([decipher.update(record.subarray(headBytes, -tagBytes)), decipher.final()]);
    let end = padded.length;
    while (end > 0 && padded[end - 1] === 0) end--;
    return { type: padded[end - 1] ?? 0, content: padded.subarray(0, Math.max(0, end - 1)) };
  };
}

/** One block of HKDF is enough. */
function expand(hash: string, { secret, label, bytes }: { secret: Buffer; label: string; bytes: number }) {
  const name = `tls13 ${label}`;
  const info = Buffer.from([0, bytes, name.length, ...Buffer.from(name), 0, 1]);
  return createHmac(hash, secret).update(info).digest().subarray(0, bytes);
}
