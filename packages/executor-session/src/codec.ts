/**
 * The `session` method with ways of its own between a message and its bytes: the generated ones write a large chunk into
 * a buffer that grows, move it for the lengths before it, and copy it three times more; and they write and read anew with
 * every call who makes it, though few make many. The bytes are the same message.
 */

import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { Principal } from '@datahub/proto/common/v1/principal';
import {
  ExecutorServiceService,
  SessionCall,
  SessionReply,
  SessionRequest,
  SessionResponse,
} from '@datahub/proto/executor/v1/executor';

/** The executor's service, the same on the wire. */
export const executorService: typeof ExecutorServiceService = {
  ...ExecutorServiceService,
  session: {
    ...ExecutorServiceService.session,
    requestSerialize: requestToBytes,
    requestDeserialize: requestFromBytes,
    responseSerialize: toBytes,
    responseDeserialize: fromBytes,
  },
};

/** Smaller ones are left to the generated code. */
const largeBytes = 4_096;
const nothing = Buffer.alloc(0);
/** The fields of the contract that matter here, with the wire type of all. */
const tags = { replies: (1 << 3) | 2, chunk: (2 << 3) | 2, calls: (1 << 3) | 2, principal: (2 << 3) | 2 };

const written = new WeakMap<Principal, Uint8Array>();
/** By their bytes, in Latin-1. */
const read = new Map<string, Principal>();
const readMax = 1_024;
/** One of more bytes, whose key is narrowed to many things, is read anew each time. */
const readBytesMax = 4_096;

/** The calls first, and of each the principal, which is written once. */
export function requestToBytes(message: SessionRequest): Buffer {
  return inOneSpace((writer) => {
    for (const call of message.calls) {
      writer.uint32(tags.calls).fork();
      if (call.principal !== undefined) writer.uint32(tags.principal).bytes(bytesOf(call.principal));
      SessionCall.encode({ ...call, principal: undefined }, writer).join();
    }
    SessionRequest.encode({ ...message, calls: [] }, writer);
  });
}

/** Calls of the same principal have the same object for it, which nobody changes. */
export function requestFromBytes(bytes: Buffer): SessionRequest {
  const reader = new BinaryReader(bytes);
  const calls: SessionCall[] = [];
  while (bytes[reader.pos] === tags.calls) {
    reader.uint32();
    calls.push(readCall(reader, bytes));
  }
  const rest = SessionRequest.decode(reader);
  return { ...rest, calls: [...calls, ...rest.calls] };
}

function readCall(reader: BinaryReader, bytes: Buffer): SessionCall {
  const end = reader.uint32() + reader.pos;
  let principal: Principal | undefined;
  if (reader.pos < end && bytes[reader.pos] === tags.principal) {
    reader.uint32();
    principal = principalOf(reader.bytes());
  }
  const call = SessionCall.decode(reader, end - reader.pos);
  call.principal ??= principal;
  return call;
}

function bytesOf(principal: Principal): Uint8Array {
  let bytes = written.get(principal);
  if (bytes === undefined) {
    bytes = Principal.encode(principal).finish();
    written.set(principal, bytes);
  }
  return bytes;
}

function principalOf(bytes: Uint8Array): Principal {
  if (bytes.length > readBytesMax) return Principal.decode(bytes);
  const key = view(bytes).toString('latin1');
  let principal = read.get(key);
  if (principal === undefined) {
    principal = Principal.decode(bytes);
    if (read.size >= readMax) read.clear();
    read.set(key, principal);
  }
  return principal;
}

/** A chunk is copied once. */
export function toBytes(message: SessionResponse): Buffer {
  if (message.replies.every(({ chunk }) => chunk.length < largeBytes)) {
    return inOneSpace((writer) => SessionResponse.encode(message, writer));
  }
  const parts = message.replies.map((reply) => {
    const { chunk } = reply;
    const head = SessionReply.encode({ ...reply, chunk: nothing }).finish();
    return { head, chunk, length: head.length + 1 + varintLength(chunk.length) + chunk.length };
  });
  const tail = SessionResponse.encode({ ...message, replies: [] }).finish();
  const total = parts.reduce((sum, { length }) => sum + 1 + varintLength(length) + length, tail.length);
  const bytes = Buffer.allocUnsafeSlow(total);
  let at = 0;
  const begin = (tag: number, length: number) => {
    bytes[at++] = tag;
    at = writeVarint(bytes, length, at);
  };
  const add = (part: Uint8Array) => {
    bytes.set(part, at);
    at += part.length;
  };
  for (const { head, chunk, length } of parts) {
    begin(tags.replies, length);
    add(head);
    begin(tags.chunk, chunk.length);
    add(chunk);
  }
  add(tail);
  return bytes;
}

/** A chunk is a view of the message. */
export function fromBytes(bytes: Buffer): SessionResponse {
  if (bytes.length < largeBytes) return SessionResponse.decode(bytes);
  const { found, rest } = takeOut(bytes, tags.replies);
  const replies = found.map((reply) => {
    const { found: chunks, rest: head } = takeOut(reply, tags.chunk);
    const decoded = SessionReply.decode(head);
    // Of a field that stands there again the last one counts.
    const chunk = chunks.at(-1);
    return chunk === undefined ? decoded : { ...decoded, chunk };
  });
  return { ...SessionResponse.decode(rest), replies };
}

/** Views of all fields of a message that have this tag, and the message without them. */
function takeOut(message: Uint8Array, tag: number): { found: Buffer[]; rest: Uint8Array } {
  const reader = new BinaryReader(message);
  const found: Buffer[] = [];
  const others: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const from = reader.pos;
    const next = reader.uint32();
    if (next === tag) found.push(view(reader.bytes()));
    else {
      reader.skip(next & 7, next >>> 3);
      others.push(message.subarray(from, reader.pos));
    }
  }
  return { found, rest: others.length === 1 ? (others[0] as Uint8Array) : Buffer.concat(others) };
}

let spare: BinaryWriter | undefined;
const spareBytesMax = 65_536;

/** The space of one message serves the next: to grow it anew would cost as much as all that is written. */
function inOneSpace(write: (writer: BinaryWriter) => void): Buffer {
  const writer = spare ?? new BinaryWriter();
  // Whatever fails leaves half a message in it.
  spare = undefined;
  write(writer);
  const bytes = view(writer.finish());
  if (bytes.length <= spareBytesMax) spare = writer;
  return bytes;
}

const view = ({ buffer, byteOffset, length }: Uint8Array) => Buffer.from(buffer, byteOffset, length);

/** Seven bits a byte (https://protobuf.dev/programming-guides/encoding/#varints). */
function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) length++;
  return length;
}

function writeVarint(bytes: Buffer, value: number, from: number): number {
  let at = from;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80;
  bytes[at++] = rest;
  return at;
}
