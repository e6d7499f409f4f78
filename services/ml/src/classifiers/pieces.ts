/**
 * Writes and reads a large value in pieces, because V8 writes or reads a whole value in one turn of the event loop. A piece
 * is a part of one member: up to so many numbers of a typed array, or so many entries of an array or a map.
 */

import { deserialize, serialize } from 'node:v8';
import type { Pause } from '../scheduling/time-slices.ts';

/** The members that lead to the value, then a part of it; for a typed array, also its length and where the part begins. */
type Piece = [path: string[], part: unknown, length?: number, from?: number];

type Numbers = Uint32Array | Int32Array | Uint16Array | Float32Array | Float64Array;
type Members = Record<string, unknown>;

const numbersPerPiece = 131_072;
const entriesPerPiece = 128;
/** A value that V8 writes begins with another byte. */
const mark = 'DHP1';
const headerSize = Buffer.byteLength(mark);
/** The bytes before each piece: its size. */
const sizeBytes = 4;

/** Plain objects are divided by their members at any depth; what arrays and maps contain is not divided further. */
function* piecesOf(value: unknown, path: string[]): Generator<Piece> {
  if (ArrayBuffer.isView(value)) {
    const numbers = value as Numbers;
    for (const from of startsOf(numbers.length, numbersPerPiece))
      yield [path, numbers.subarray(from, from + numbersPerPiece), numbers.length, from];
  } else if (value instanceof Map) {
    const entries = [...value];
    for (const from of startsOf(entries.length, entriesPerPiece))
      yield [path, new Map(entries.slice(from, from + entriesPerPiece))];
  } else if (Array.isArray(value)) {
    for (const from of startsOf(value.length, entriesPerPiece))
      yield [path, value.slice(from, from + entriesPerPiece)];
  } else if (typeof value === 'object' && value !== null) {
    yield [path, {}];
    for (const [name, member] of Object.entries(value)) yield* piecesOf(member, [...path, name]);
  } else {
    yield [path, value];
  }
}

/** At least one, because an empty value is a piece, too. */
function* startsOf(length: number, step: number): Generator<number> {
  for (let from = 0; from === 0 || from < length; from += step) yield from;
}

/** The value must not change meanwhile. */
export async function toBytesInPieces(value: object, pause: Pause): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = headerSize;
  for (const piece of piecesOf(value, ['value'])) {
    const bytes = serialize(piece);
    pieces.push(bytes);
    size += sizeBytes + bytes.byteLength;
    await pause();
  }
  const whole = new Uint8Array(size);
  const view = new DataView(whole.buffer);
  let at = Buffer.from(whole.buffer).write(mark);
  for (const bytes of pieces) {
    view.setUint32(at, bytes.byteLength);
    whole.set(bytes, at + sizeBytes);
    at += sizeBytes + bytes.byteLength;
    await pause();
  }
  return whole;
}

export const isInPieces = (bytes: Uint8Array): boolean =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1', 0, headerSize) === mark;

/** Throws for other bytes than those of `toBytesInPieces`. */
export async function fromBytesInPieces(bytes: Uint8Array, pause: Pause): Promise<unknown> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const root: Members = {};
  for (let at = headerSize; at < bytes.byteLength; ) {
    const from = at + sizeBytes;
    at = from + view.getUint32(at);
    // V8 keeps the buffer of its input for the arrays that it returns, so the input is a copy.
    addPiece(root, deserialize(bytes.slice(from, at)));
    await pause();
  }
  return root.value;
}

function addPiece(root: Members, [path, part, length, from = 0]: Piece): void {
  let parent = root;
  for (const name of path.slice(0, -1)) parent = parent[name] as Members;
  const name = path.at(-1) as string;
  const known = parent[name];
  if (known instanceof Map) for (const [key, one] of part as Map<unknown, unknown>) known.set(key, one);
  else if (Array.isArray(known)) known.push(...(part as unknown[]));
  else if (length === undefined) parent[name] = part;
  else {
    const numbers = part as Numbers;
    const whole = (known ?? new (numbers.constructor as new (length: number) => Numbers)(length)) as Numbers;
    whole.set(numbers, from);
    parent[name] = whole;
  }
}
