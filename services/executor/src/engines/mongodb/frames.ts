/**
 * Checks a server's messages before the driver reads them. The driver itself waits for as many bytes as a server
 * announces, loops forever on a message of length 0, computes as many SCRAM rounds as a server requests, accepts any
 * nonce, and throws outside of promises if a member's name is not a string.
 */

import { Carry } from '../../network/shared-read-buffer.ts';
import { documentEnd } from '../../result/values/bson-reader.ts';
import { logInBytesMax } from '../shared/bounds.ts';
import { checkScram, cleanHello } from './hello.ts';
import { longReplyBytes } from './long-reply.ts';
import { ReplyPieces } from './reply-pieces.ts';

const opReply = 1;
const opQuery = 2_004;
const opMsg = 2_013;
const headerBytes = 16;
/** The offset of the document: after flags and kind (OP_MSG), or after flags, cursor, start and count (OP_REPLY). */
const beforeBody: Record<number, number> = { [opMsg]: headerBytes + 5, [opReply]: headerBytes + 20 };
/** Enough for the name of a command, and for the first SCRAM message with the longest user name. */
const requestStartBytes = 2_048;
/** MongoDB's replies are one document of at most 16 MiB and some kilobytes. The driver buffers a reply as a whole. */
const messageBytesMax = 32_000_000;

type RequestKind = 'hello' | 'log-in' | 'command';

const kindByName: Record<string, RequestKind> = {
  hello: 'hello',
  ismaster: 'hello',
  isMaster: 'hello',
  saslStart: 'log-in',
  saslContinue: 'log-in',
  authenticate: 'log-in',
  ping: 'log-in',
  buildInfo: 'log-in',
};

/** Tracks the driver's requests, which come one after the other. */
export class Requests {
  /** The id of the pending request; 0 if there is none. */
  id = 0;
  asked: RequestKind = 'hello';
  opCode = 0;
  /** The client nonce of SCRAM (RFC 5802, `r=`) in the first request of a log-in. */
  nonce: string | undefined;
  /** The id of the session that sent the request, in hexadecimal. */
  session: string | undefined;
  readonly #carry = new Carry();
  #left = 0;

  note(bytes: Buffer): void {
    const skipped = Math.min(this.#left, bytes.length);
    this.#left -= skipped;
    const there = skipped === bytes.length ? undefined : this.#carry.join(bytes.subarray(skipped));
    if (there === undefined) return;
    for (let at = 0; at < there.length; ) {
      const left = there.length - at;
      const length = left < 4 ? headerBytes : there.readInt32LE(at);
      const needed = Math.min(length, requestStartBytes);
      if (left < needed) {
        this.#carry.keep(there, at, needed);
        return;
      }
      this.#begin(there.subarray(at, at + needed));
      this.#left = Math.max(0, length - left);
      at += Math.min(length, left);
    }
  }

  #begin(start: Buffer): void {
    this.id = start.readInt32LE(4);
    this.opCode = start.readInt32LE(12);
    // The driver uses OP_QUERY only for its greeting.
    const name = this.opCode === opQuery ? 'hello' : firstName(start);
    this.asked = kindByName[name] ?? 'command';
    this.session = sessionOf(start);
    this.nonce =
      name === 'saslStart' ? /,r=([A-Za-z0-9+/=]+)/.exec(start.toString('latin1'))?.[1] : undefined;
  }
}

/** Returns the name of the command, which is the first element of the document of an OP_MSG. */
function firstName(start: Buffer): string {
  const at = (beforeBody[opMsg] as number) + 5;
  return start.toString('latin1', at, start.indexOf(0, at));
}

const beforeSession = Buffer.from('\x03lsid\0');
/** After that come the lengths of the document and of the id, the name and the kind of the id. */
const toSessionId = beforeSession.length + 4 + 4 + 4 + 1;
const sessionIdBytes = 16;

/** `RawCursor` puts the session in front of the values of a command. */
function sessionOf(start: Buffer): string | undefined {
  const at = start.indexOf(beforeSession);
  return at < 0 ? undefined : start.toString('hex', at + toSessionId, at + toSessionId + sessionIdBytes);
}

/** Passes bytes to the driver. `rounds` are those of SCRAM that it computes before it answers. */
export type PassReply = (bytes: Buffer, rounds?: number) => void;

/** Checks the server's replies. Throws if the connection must be closed. */
export class Replies {
  readonly #requests: Requests;
  readonly #pass: PassReply;
  readonly #onLong: (bytes: number) => void;
  readonly #carry = new Carry();
  #left = 0;
  #pieces: ReplyPieces | undefined;

  /** `onLong` is called at the beginning of a long reply, before its bytes are passed on. */
  constructor(requests: Requests, pass: PassReply, onLong: (bytes: number) => void = () => {}) {
    this.#requests = requests;
    this.#pass = pass;
    this.#onLong = onLong;
  }

  take(bytes: Buffer): void {
    const passed = Math.min(this.#left, bytes.length);
    if (passed > 0) {
      this.#pieces?.take(bytes.subarray(0, passed));
      this.#pass(bytes.subarray(0, passed));
    }
    this.#left -= passed;
    const there = passed === bytes.length ? undefined : this.#carry.join(bytes.subarray(passed));
    if (there === undefined) return;
    if (there.length < headerBytes) {
      this.#carry.keep(there, 0, headerBytes);
      return;
    }
    const { length, bodyAt } = this.#check(there);
    const isWide = this.#requests.asked === 'command';
    const needed = isWide ? bodyAt + 4 : length;
    if (there.length < needed) {
      this.#carry.keep(there, 0, needed);
      return;
    }
    if (bodyAt + there.readInt32LE(bodyAt) !== length)
      throw misfit('The length of a message does not match its document.');
    if (there.length > length) throw misfit('The server sent a reply without a request.');
    if (length > longReplyBytes) this.#onLong(length);
    this.#left = length - there.length;
    this.#requests.id = 0;
    this.#pieces = new ReplyPieces(length - bodyAt);
    this.#pieces.take(there.subarray(bodyAt));
    if (isWide) this.#pass(there);
    else this.#passChecked(there, bodyAt);
  }

  #check(message: Buffer): { length: number; bodyAt: number } {
    const { id, opCode, asked } = this.#requests;
    const length = message.readInt32LE(0);
    const bodyAt = beforeBody[message.readInt32LE(12)];
    if (id === 0 || message.readInt32LE(8) !== id) throw misfit('The server sent a reply without a request.');
    if (bodyAt === undefined || (message.readInt32LE(12) === opReply) !== (opCode === opQuery))
      throw misfit('The reply has an unexpected opcode.');
    const lengthMax = asked === 'command' ? messageBytesMax : logInBytesMax;
    if (length < bodyAt + 5 || length > lengthMax) throw misfit('The length of a message is out of bounds.');
    const flags = message.length < headerBytes + 5 ? 0 : message.readUInt32LE(headerBytes);
    if (bodyAt === beforeBody[opMsg] && (flags !== 0 || (message[headerBytes + 4] ?? 0) !== 0))
      throw misfit('The reply has unexpected sections.');
    return { length, bodyAt };
  }

  #passChecked(message: Buffer, bodyAt: number): void {
    const body = message.subarray(bodyAt, documentEnd(message, bodyAt, message.length));
    const { nonce, asked } = this.#requests;
    const rounds = nonce === undefined ? undefined : checkScram(body, nonce);
    if (asked !== 'hello') {
      this.#pass(message, rounds);
      return;
    }
    const clean = cleanHello(body);
    const head = Buffer.from(message.subarray(0, bodyAt));
    head.writeInt32LE(bodyAt + clean.length, 0);
    // An OP_REPLY counts its documents.
    if (bodyAt === beforeBody[opReply]) head.writeInt32LE(1, bodyAt - 4);
    this.#pass(Buffer.concat([head, clean]));
  }
}

const misfit = (message: string) => new RangeError(message);
