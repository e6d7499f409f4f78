/**
 * Commands of the driver, answered by whole replies in BSON. The driver's own door gives documents one by one, each
 * parted into its members, which costs as much again as writing them, and of commands without a cursor no bytes at all.
 * So this takes from inside: what commands are sent with, the first reply, and the one at hand; a cursor stays at the
 * server that opened it, which the driver sees to. A driver that has these elsewhere fails the tests, and every command.
 */

import type { ClientSession, Db, Document, ReadPreferenceLike, RunCommandCursor } from 'mongodb';

interface Reply {
  toBytes(): Uint8Array;
  clear(): void;
}

interface Inside {
  cursorOptions: { signal?: AbortSignal };
  documents: Reply | null;
  _initialize(session: ClientSession): Promise<{ response: Reply }>;
}

export interface RawOptions {
  session: ClientSession;
  readPreference: ReadPreferenceLike;
  /** Ends the command, and its socket. */
  signal: AbortSignal;
}

/** The reply of a command without a cursor. Rejects as the driver does where the server says that it failed. */
export async function rawReply(db: Db, command: Document, options: RawOptions): Promise<Buffer> {
  const { cursor, inside } = open(db, command, options);
  try {
    return bytesOf((await inside._initialize(options.session)).response);
  } finally {
    await cursor.close();
  }
}

export class RawCursor {
  readonly #cursor: RunCommandCursor;
  readonly #inside: Inside;
  #isBegun = false;

  /** `batchSize`: documents of the replies after the first. */
  constructor(db: Db, command: Document, options: RawOptions & { batchSize: number }) {
    const { cursor, inside } = open(db, command, options);
    this.#cursor = cursor.setBatchSize(options.batchSize);
    this.#inside = inside;
  }

  /** The next reply that has documents; of an answer without any the first one; else undefined. */
  async next(): Promise<Buffer | undefined> {
    this.#inside.documents?.clear();
    const hasMore = await this.#cursor.hasNext();
    if (!hasMore && this.#isBegun) return undefined;
    this.#isBegun = true;
    return bytesOf(this.#inside.documents);
  }

  /** Ends what is left of it at the server. */
  close(): Promise<void> {
    return this.#cursor.close();
  }
}

function open(db: Db, command: Document, { session, readPreference, signal }: RawOptions) {
  const cursor = db.runCursorCommand(command, { session, readPreference, raw: true });
  const inside = cursor as unknown as Inside;
  inside.cursorOptions.signal = signal;
  return { cursor, inside };
}

function bytesOf(reply: Reply | null): Buffer {
  const { buffer, byteOffset, byteLength } = (reply as Reply).toBytes();
  return Buffer.from(buffer, byteOffset, byteLength);
}
