/**
 * Faster serializers for the messages of a session, with the same bytes on the wire. The generated code copies a large
 * chunk about five times, and encodes and decodes the principal of each call, though few principals make many calls.
 */

import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { Principal } from '@datahub/proto/common/v1/principal';
import {
  ExecutorServiceService,
  SessionCall,
  type SessionInput,
  SessionReply,
  SessionRequest,
  SessionResponse,
} from '@datahub/proto/executor/v1/executor';
import { LRUCache } from 'lru-cache';

/** The executor's service with these serializers. */
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

/** The generated code handles smaller messages. */
const largeBytes = 4_096;
const nothing = Buffer.alloc(0);
/** Tags of the fields handled here: number and wire type 2. */
const tags = { replies: (1 << 3) | 2, chunk: (2 << 3) | 2, calls: (1 << 3) | 2, principal: (2 << 3) | 2 };

const encodedPrincipals = new WeakMap<Principal, Uint8Array>();
/** By their bytes, in Latin-1. */
const decodedPrincipals = new LRUCache<string, Principal>({ max: 1_024 });
/** A larger principal, whose key is limited to many resources, is not cached. */
const cachedPrincipalBytesMax = 4_096;

/** Writes the calls first, and the principal as the first field of each. */
export function requestToBytes(message: SessionRequest): Buffer {
  return withSharedWriter((writer) => {
    for (const call of message.calls) {
      writer.uint32(tags.calls).fork();
      if (call.principal !== undefined) writer.uint32(tags.principal).bytes(bytesOf(call.principal));
      SessionCall.encode({ ...call, principal: undefined }, writer).join();
    }
    SessionRequest.encode({ ...message, calls: [] }, writer);
  });
}

/** Calls of the same principal share one object, which must not be changed. */
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

/** About the bytes that a call takes in a message: those of what callers choose. */
export function callBytes({ principal, request }: SessionCall): number {
  const { contextJson = '', form, draft, transaction } = request ?? {};
  let bytes = (principal === undefined ? 0 : bytesOf(principal).length) + contextJson.length;
  for (const { name, value } of form?.values ?? []) bytes += name.length + value.length;
  for (const step of transaction?.steps ?? []) bytes += step.contextJson.length;
  return bytes + (draft?.query.length ?? 0);
}

export const inputBytes = ({ batch }: SessionInput): number =>
  batch?.records.reduce((bytes, record) => bytes + record.length, 0) ?? 0;

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
  let bytes = encodedPrincipals.get(principal);
  if (bytes === undefined) {
    bytes = Principal.encode(principal).finish();
    encodedPrincipals.set(principal, bytes);
  }
  return bytes;
}

function principalOf(bytes: Uint8Array): Principal {
  if (bytes.length > cachedPrincipalBytesMax) return Principal.decode(bytes);
  const key = view(bytes).toString('latin1');
  let principal = decodedPrincipals.get(key);
  if (principal === undefined) {
    principal = Principal.decode(bytes);
    decodedPrincipals.set(key, principal);
  }
  return principal;
}

/** Copies each chunk once. */
export function toBytes(message: SessionResponse): Buffer {
  if (message.replies.every(({ chunk }) => chunk.length < largeBytes)) {
    return withSharedWriter((writer) => SessionResponse.encode(message, writer));
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

/** Returns chunks as views of the message, without a copy. */
export function fromBytes(bytes: Buffer): SessionResponse {
  if (bytes.length < largeBytes) return SessionResponse.decode(bytes);
  const { found, rest } = extractFields(bytes, tags.replies);
  const replies = found.map((reply) => {
    const { found: chunks, rest: head } = extractFields(reply, tags.chunk);
    const decoded = SessionReply.decode(head);
    // Protobuf: the last one wins if a field is repeated.
    const chunk = chunks.at(-1);
    return chunk === undefined ? decoded : { ...decoded, chunk };
  });
  return { ...SessionResponse.decode(rest), replies };
}

/** Takes the fields with this tag out of a message: `found` has views of their values, and `rest` the other fields. */
function extractFields(message: Uint8Array, tag: number): { found: Buffer[]; rest: Uint8Array } {
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

let sharedWriter: BinaryWriter | undefined;
const sharedWriterBytesMax = 65_536;

/** Reuses the writer of the message before, because growing a new buffer costs as much as writing the message. */
function withSharedWriter(write: (writer: BinaryWriter) => void): Buffer {
  const writer = sharedWriter ?? new BinaryWriter();
  // If `write` throws, the writer holds half a message and must not be used again.
  sharedWriter = undefined;
  write(writer);
  const bytes = view(writer.finish());
  if (bytes.length <= sharedWriterBytesMax) sharedWriter = writer;
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
