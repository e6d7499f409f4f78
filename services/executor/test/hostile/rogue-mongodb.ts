/** Hostile MongoDB servers. They implement the protocol up to a log-in and a find, and misbehave at one point. */

import type { Socket } from 'node:net';
import { Binary, BSON, type Document } from 'mongodb';
import type { Play } from './plays.ts';
import { cut, drip, flood, noise } from './rogue.ts';

const opReply = 1;
const opQuery = 2_004;
const opMsg = 2_013;
const beforeBodyBytes = 21;
/** The bytes before the document of an OP_QUERY greeting: flags, `admin.$cmd` with its zero, and two numbers. */
const beforeQueryBytes = 16 + 4 + 11 + 8;
const beforeReplyBytes = 36;
const gibibyte = 1_073_741_824;

export const messageLength = (bytes: Buffer) => (bytes.length < 16 ? 0 : bytes.readInt32LE(0));

/** A negative `requestId` stands for a request with OP_QUERY, which is answered with OP_REPLY. */
export function toReply(body: Uint8Array, requestId: number): Buffer {
  const isOld = requestId < 0;
  const head = Buffer.alloc(isOld ? beforeReplyBytes : beforeBodyBytes);
  head.writeInt32LE(head.length + body.length, 0);
  head.writeInt32LE(Math.abs(requestId), 8);
  head.writeInt32LE(isOld ? opReply : opMsg, 12);
  if (isOld) head.writeInt32LE(1, beforeReplyBytes - 4);
  return Buffer.concat([head, body]);
}

/** The reply to each command by its name: a document, or a function that writes to the socket. */
export type Replies = Record<string, Document | ((socket: Socket, command: Document, id: number) => void)>;

export const hello: Document = {
  ok: 1,
  helloOk: true,
  isWritablePrimary: true,
  minWireVersion: 0,
  maxWireVersion: 21,
  logicalSessionTimeoutMinutes: 30,
};

const friendly: Replies = {
  hello,
  ping: { ok: 1 },
  listCollections: { ok: 1, cursor: { id: 0n, ns: 'd.$cmd.listCollections', firstBatch: [] } },
  endSessions: { ok: 1 },
  saslStart: { ok: 1, conversationId: 1, done: false, payload: new Binary(Buffer.from('r=x,s=eA==,i=4096')) },
  buildInfo: { ok: 1, version: '8.0.0' },
  find: { ok: 1, cursor: { id: 0n, ns: 'd.c', firstBatch: [{ a: 1 }] } },
};

/** Closes the connection at an unknown command and at a TLS handshake. */
export function converse(replies: Replies): (socket: Socket) => void {
  const known: Replies = { ...friendly, ...replies };
  return (socket) => {
    socket.once('data', (first: Buffer) => first[0] === 0x16 && socket.destroy());
    cut(socket, messageLength, (message) => {
      const isOld = message.readInt32LE(12) === opQuery;
      const command = BSON.deserialize(message.subarray(isOld ? beforeQueryBytes : beforeBodyBytes));
      const id = isOld ? -message.readInt32LE(4) : message.readInt32LE(4);
      const name = Object.keys(command)[0] ?? '';
      const reply = known[isOld || name === 'ismaster' ? 'hello' : name];
      if (typeof reply === 'function') reply(socket, command, id);
      else if (reply === undefined) socket.destroy();
      else socket.write(toReply(BSON.serialize(reply), id));
    });
  };
}

/** Replies that end the log-in at once, for plays about later steps. */
const proven = {
  saslStart: { ok: 1, conversationId: 1, done: true, payload: new Binary(Buffer.from('')) },
};

/** A reply whose document has a wrong length. */
function crooked(change: (body: Buffer) => void) {
  return (socket: Socket, _command: Document, id: number) => {
    const body = Buffer.from(BSON.serialize({ ok: 1, cursor: { id: 0n, firstBatch: [{ a: 'text' }] } }));
    change(body);
    socket.write(toReply(body, id));
  };
}

const announced = (bytes: number) => (socket: Socket, _command: Document, id: number) => {
  const head = toReply(Buffer.alloc(0), id);
  head.writeInt32LE(bytes, 0);
  socket.write(head);
  flood(socket, noise);
};

const play = (name: string, codes: string[], replies: Replies): Play => ({
  name,
  play: converse(replies),
  codes,
});

/** None of these servers can prove that it knows the password, so the hub sends no statement to them. */
export const mongodbPlays: Play[] = [
  { name: 'says nothing', play: () => {}, codes: ['SOURCE_UNREACHABLE'], lasts: true },
  {
    name: 'greets with noise',
    play: (socket) => void socket.write(noise),
    codes: ['SOURCE_TLS', 'SOURCE_UNREACHABLE'],
  },
  play('announces 1 GiB at the greeting', ['SOURCE_UNREACHABLE'], { hello: announced(gibibyte) }),
  play('announces a message of length 0', ['SOURCE_UNREACHABLE'], { hello: announced(0) }),
  play('names members that are not strings', ['SOURCE_UNREACHABLE'], {
    hello: { ...hello, setName: 'rs', hosts: [5] },
  }),
  play('names more members than there can be', ['SOURCE_UNREACHABLE'], {
    hello: { ...hello, setName: 'rs', hosts: Array.from({ length: 51 }, (_, i) => `127.0.0.1:${i + 1}`) },
  }),
  play('announces a negative length', ['SOURCE_UNREACHABLE'], { hello: announced(-2) }),
  play('announces 16 MB at the greeting', ['SOURCE_UNREACHABLE'], { hello: announced(16_000_000) }),
  {
    ...play('sends its greeting byte by byte', ['SOURCE_UNREACHABLE'], {
      hello: (socket) => drip(socket, Buffer.alloc(64, 1), 20),
    }),
    lasts: true,
  },
  play('has a wire version that is too old', ['SOURCE_UNREACHABLE'], {
    hello: { ...hello, maxWireVersion: 2 },
  }),
  play('answers with a document that is shorter than its length', ['SOURCE_UNREACHABLE'], {
    hello: crooked((body) => body.writeInt32LE(1_000, 0)),
  }),
  play('requests two billion SCRAM rounds', ['SOURCE_AUTH'], {
    saslStart: (socket, { payload }, id) => {
      const nonce = /r=([^,]+)/.exec(Buffer.from(payload.buffer).toString())?.[1];
      const first = new Binary(Buffer.from(`r=${nonce}x,s=eA==,i=2000000000`));
      socket.write(toReply(BSON.serialize({ ok: 1, conversationId: 1, done: false, payload: first }), id));
    },
  }),
  play('answers with another nonce', ['SOURCE_AUTH'], {}),
  play('ends the log-in without proving that it knows the password', ['SOURCE_AUTH'], proven),
  play('refuses the log-in with a message that contains the user', ['SOURCE_AUTH'], {
    saslStart: { ok: 0, code: 18, errmsg: 'user-canary-5f2e at 127.0.0.1 is unknown' },
  }),
];

export { crooked };
