/**
 * Reads what a server sends in a TLS handshake before OpenSSL does, and lets it go on once its certificates are known to
 * cost little. TLS 1.3 encrypts them; the log of keys has the secret.
 */

import { hasCostlyKey } from './costly-certificates.ts';
import { createOpener, type Opened } from './handshake-secrets.ts';

/** The types of records. */
const changeCipher = 20;
const handshake = 22;
const encrypted = 23;
/** The types of messages. */
const serverHello = 2;
const certificate = 11;
const serverHelloDone = 14;
const finished = 20;
const compressedCertificate = 25;

const headBytes = 5;
const recordBytesMax = 16_384 + 256;
const messageHeadBytes = 4;
/** Of a server and its authorities. OpenSSL verifies each. */
const certificatesMax = 10;
const secretLine = /^SERVER_HANDSHAKE_TRAFFIC_SECRET [0-9a-f]+ ([0-9a-f]+)/;

export class HandshakeCheck {
  /** What follows needs no check. */
  isOver = false;
  #unread = Buffer.alloc(0);
  readonly #held: Buffer[] = [];
  /** The decrypted handshake messages of the records that are held. */
  #messages = Buffer.alloc(0);
  #suite = 0;
  #open: ((record: Buffer) => Opened) | undefined;

  /** Returns true if this line of the log of keys has the secret. Then `read` may have more to pass on. */
  learn(line: Buffer): boolean {
    const [, secret] = secretLine.exec(line.toString('latin1')) ?? [];
    if (secret !== undefined) this.#open = createOpener(this.#suite, Buffer.from(secret, 'hex'));
    return secret !== undefined;
  }

  /** Yields what may go on. Throws RangeError for certificates that cost much, and for what is no handshake. */
  *read(bytes: Buffer): Generator<Buffer> {
    this.#unread = Buffer.concat([this.#unread, bytes]);
    for (let record = this.#next(); record !== undefined; record = this.#next()) {
      this.#held.push(record);
      const isPlain = record[0] === handshake;
      const opened = record[0] === encrypted ? this.#open?.(record) : undefined;
      if (isPlain) this.#add(record.subarray(headBytes));
      else if (opened?.type === handshake) this.#add(opened.content);
      else if (record[0] === changeCipher) continue;
      const last = this.#check(!isPlain);
      if (last === undefined && (isPlain || opened?.type === handshake)) continue;
      this.isOver = last === (isPlain ? serverHelloDone : finished);
      yield* this.#held.splice(0);
    }
    if (this.isOver && this.#unread.length > 0) yield this.#unread;
  }

  /** The next record; undefined if it is not complete, or is encrypted and the secret is not known yet. */
  #next(): Buffer | undefined {
    if (this.isOver || this.#unread.length < headBytes) return undefined;
    const type = this.#unread.readUInt8(0);
    const end = headBytes + this.#unread.readUInt16BE(3);
    if (type < changeCipher || type > encrypted || end > headBytes + recordBytesMax)
      throw new RangeError('This is no TLS.');
    if (end > this.#unread.length || (type === encrypted && this.#open === undefined)) return undefined;
    const record = this.#unread.subarray(0, end);
    this.#unread = this.#unread.subarray(end);
    return record;
  }

  #add(content: Buffer): void {
    this.#messages = Buffer.concat([this.#messages, content]);
  }

  /** Checks the complete messages. Returns the type of the last one that ends a flight, if it is the end so far. */
  #check(isEncrypted: boolean): number | undefined {
    let last: number | undefined;
    while (this.#messages.length >= messageHeadBytes) {
      const end = messageHeadBytes + this.#messages.readUIntBE(1, 3);
      if (end > this.#messages.length) return undefined;
      last = this.#messages.readUInt8(0);
      const body = this.#messages.subarray(messageHeadBytes, end);
      if (last === serverHello) this.#suite = suiteOf(body);
      if (last === certificate) requireCheap(body, isEncrypted);
      if (last === compressedCertificate) throw new RangeError('The certificates are compressed.');
      this.#messages = this.#messages.subarray(end);
    }
    const endsFlight = last === serverHello || last === serverHelloDone || last === finished;
    return endsFlight && this.#messages.length === 0 ? last : undefined;
  }
}

/** Of a ServerHello: after its version and 32 random bytes comes the session's id, and then the suite. */
const suiteOf = (body: Buffer): number => body.readUInt16BE(35 + body.readUInt8(34));

/** Of the message with the certificates. In TLS 1.3 a context comes before them, and extensions after each. */
function requireCheap(body: Buffer, isEncrypted: boolean): void {
  if (hasCostlyKey(body)) throw new RangeError('A certificate has a key that costs much.');
  let at = isEncrypted ? 4 + body.readUInt8(0) : 3;
  for (let count = 1; at < body.length; count++) {
    if (count > certificatesMax) throw new RangeError('The server has too many certificates.');
    at += 3 + body.readUIntBE(at, 3);
    if (isEncrypted) at += 2 + body.readUInt16BE(at);
  }
}
