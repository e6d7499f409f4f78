/**
 * Runs commands with the driver and returns whole replies as BSON. The driver's public API decodes each document, which
 * costs as much as writing it, and returns no bytes for commands without a cursor. So this file uses internals of the
 * driver: the options of a command, its first reply, and the current reply. The driver reads a cursor from the server
 * that opened it. If a new version of the driver changes these internals, the tests and every command fail.
 */

import type { ClientSession, Db, Document, ReadPreferenceLike, RunCommandCursor } from 'mongodb';

interface Reply {
  toBytes(): Uint8Array;
}

interface Batch extends Reply {
  /** The number of its documents. */
  readonly batchSize: number;
}

interface Inside {
  cursorOptions: { signal?: AbortSignal };
  documents: Batch | null;
  _initialize(session: ClientSession): Promise<{ response: Reply }>;
}

export interface RawOptions {
  session: ClientSession;
  readPreference: ReadPreferenceLike;
  /** Aborts the command and closes its socket. */
  signal: AbortSignal;
}

/** Resolves to the reply of a command without a cursor. Rejects with the driver's error if the server reports one. */
export async function rawReply(db: Db, command: Document, options: RawOptions): Promise<Buffer> {
  const { cursor, inside } = open(db, command, options);
  try {
    return bytesOf((await inside._initialize(options.session)).response);
  } finally {
    await cursor.close();
  }
}

/** A reply is in memory for as long as its documents are written, perhaps to a slow reader. */
const replyBytes = 2 * 1_048_576;

export class RawCursor {
  readonly #cursor: RunCommandCursor;
  readonly #inside: Inside;
  readonly #batchSize: number;
  #isBegun = false;

  /** `batchSize` is the most documents per reply after the first. There are fewer if those before them were long. */
  constructor(db: Db, command: Document, options: RawOptions & { batchSize: number }) {
    const { cursor, inside } = open(db, command, options);
    this.#cursor = cursor;
    this.#inside = inside;
    this.#batchSize = options.batchSize;
  }

  /** Resolves to the next reply with documents, or to the first reply if none has any; to undefined at the end. */
  async next(): Promise<Buffer | undefined> {
    // Its memory is free before the next one arrives.
    this.#inside.documents = null;
    const hasMore = await this.#cursor.hasNext();
    if (!hasMore && this.#isBegun) return undefined;
    this.#isBegun = true;
    const batch = this.#inside.documents as Batch | null;
    const reply = bytesOf(batch);
    const count = batch?.batchSize || this.#batchSize;
    const fit = Math.max(1, Math.floor((replyBytes * count) / reply.length));
    this.#cursor.setBatchSize(Math.min(this.#batchSize, fit));
    return reply;
  }

  /** Closes the cursor at the server. */
  close(): Promise<void> {
    return this.#cursor.close();
  }
}

function open(db: Db, command: Document, { session, readPreference, signal }: RawOptions) {
  // A server cuts long messages of errors within a character.
  const texts = { enableUtf8Validation: false };
  const [name = ''] = Object.keys(command);
  // Here the driver sets the session, which `frames.ts` looks for, else behind values of any length.
  const withSession = { [name]: command[name], lsid: session.id, ...command };
  const cursor = db.runCursorCommand(withSession, { session, readPreference, raw: true, ...texts });
  const inside = cursor as unknown as Inside;
  inside.cursorOptions.signal = signal;
  return { cursor, inside };
}

function bytesOf(reply: Reply | null): Buffer {
  const { buffer, byteOffset, byteLength } = (reply as Reply).toBytes();
  return Buffer.from(buffer, byteOffset, byteLength);
}
