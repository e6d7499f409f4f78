/** One session at MongoDB: commands, and what their cursors give, straight into the sink. */

import { randomBytes } from 'node:crypto';
import { HubError } from '@datahub/service-kit/call/error';
import { Binary, BSON, type Document, EJSON, ObjectId } from 'bson';
import type { Connection, Outcome, RunOptions, Schema, Signature, Statement } from '../../engine.ts';
import type { RowSink } from '../../row-sink.ts';
import { findElement, types } from './bson-reader.ts';
import { brokenError, errorOf, toHubError, unknownOutcome } from './errors.ts';
import { DocumentRows } from './results.ts';
import { readSchema } from './schema.ts';
import type { Wire } from './wire.ts';

export interface Session {
  /** Logged in. */
  wire: Wire;
  database: string;
  rowBytesMax: number;
  serverVersion: string;
  /** Asks the server on a side connection to end what runs in this session of its own. */
  cancel(session: Document, signal: AbortSignal): Promise<void>;
}

/** Documents a reply: few at first, so that the first bytes come soon. */
const batchSizes = { first: 101, next: 1_000 };

export class MongodbConnection implements Connection {
  readonly serverVersion: string;
  readonly #session: Session;
  readonly #wire: Wire;
  /** What the server knows this connection's work by. */
  #logicalSession = newSession();
  #broken = false;
  #cancelling = false;

  constructor(session: Session) {
    this.#session = session;
    this.serverVersion = session.serverVersion;
    this.#wire = session.wire;
  }

  get broken(): boolean {
    return this.#broken || this.#wire.closed;
  }

  onClose(listener: () => void): void {
    this.#wire.onClose(listener);
  }

  async run(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    this.#cancelling = false;
    try {
      const command = parse(statement.text);
      return statement.kind === 'read'
        ? await this.#read(command, sink, options)
        : await this.#write(command, options);
    } catch (caught) {
      const err = caught instanceof RangeError ? this.#misread(caught) : caught;
      throw this.#cancelling ? toCancelled(err) : err;
    } finally {
      if (this.#cancelling) this.#logicalSession = newSession();
    }
  }

  async #read(command: Document, sink: RowSink, options: RunOptions): Promise<Outcome> {
    const { maxRows = Number.POSITIVE_INFINITY, statementTimeoutMs } = options;
    const rows = new DocumentRows({ sink, maxRows, rowBytesMax: this.#session.rowBytesMax, command });
    const [name = ''] = Object.keys(command);
    const hasCursor = name === 'find' || name === 'aggregate';
    const batch = {
      first: Math.min(batchSizes.first, maxRows + 1),
      next: Math.min(batchSizes.next, maxRows + 1),
    };
    const first = await this.#ask({
      ...command,
      ...(name === 'find' ? { batchSize: batch.first } : {}),
      ...(name === 'aggregate' ? { cursor: { batchSize: batch.first } } : {}),
      maxTimeMS: Math.ceil(statementTimeoutMs),
    });
    if (!hasCursor) return rows.single(name, first);
    let cursor = rows.batch(first, 'firstBatch');
    while (cursor !== 0n && !rows.outcome.truncated) {
      await this.#untilTaken(sink);
      const next = {
        getMore: BSON.Long.fromBigInt(cursor),
        collection: command[name],
        batchSize: batch.next,
      };
      cursor = rows.batch(await this.#ask(next), 'nextBatch');
    }
    if (cursor !== 0n)
      await this.#ask({ killCursors: command[name], cursors: [BSON.Long.fromBigInt(cursor)] });
    return rows.end();
  }

  /** Resolves when the receiver has caught up, or when the execution is stopped. */
  async #untilTaken(sink: RowSink): Promise<void> {
    if (!sink.full) return;
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
      sink.onDrain(resolve);
    });
    if (this.#cancelling || this.broken) throw brokenError();
  }

  #resume: () => void = () => {};

  async #write(command: Document, { statementTimeoutMs }: RunOptions): Promise<Outcome> {
    const insertId = named(command);
    const reply = BSON.deserialize(
      await this.#exchange({ ...command, maxTimeMS: Math.ceil(statementTimeoutMs) }),
    );
    const error = errorOf(reply);
    const written = Number(reply.n ?? 0);
    if (error !== undefined) {
      const carriedOut = Number(reply.ok) === 1 && reply.writeErrors === undefined;
      throw carriedOut ? unknownOutcome() : toHubError(error, written);
    }
    return {
      hasRows: false,
      rowCount: 0,
      truncated: false,
      affectedRows: written,
      ...(insertId === undefined ? {} : { insertId }),
    };
  }

  /** What is left of a reply that does not fit its own lengths cannot be told from the next. */
  #misread(cause: RangeError): HubError {
    this.close();
    return brokenError(cause);
  }

  /** A reply that says that all went well. */
  async #ask(command: Document): Promise<Buffer> {
    const reply = await this.#exchange(command);
    const ok = findElement(reply, 0, 'ok');
    const isOk =
      ok !== undefined && (ok.type === types.double ? reply.readDoubleLE(ok.at) : reply[ok.at]) === 1;
    if (isOk) return reply;
    throw toHubError(errorOf(BSON.deserialize(reply)) ?? { code: 0, message: '' });
  }

  async #exchange(command: Document): Promise<Buffer> {
    const [name = ''] = Object.keys(command);
    const reads = readCommands.has(name) ? { $readPreference: { mode: 'primaryPreferred' } } : {};
    try {
      const { database } = this.#session;
      return await this.#wire.send({ ...command, lsid: this.#logicalSession, ...reads, $db: database });
    } catch (err) {
      if (err instanceof HubError) throw err;
      // A value that BSON has no room for; nothing was sent.
      throw unfit(err);
    }
  }

  async cancel(signal: AbortSignal): Promise<void> {
    this.#cancelling = true;
    await this.#session.cancel(this.#logicalSession, signal).finally(() => this.#resume());
  }

  async ping(): Promise<void> {
    await this.#ask({ ping: 1 });
  }

  /** Documents have no columns until they are there. */
  describe(): Promise<Signature> {
    return Promise.reject(
      new HubError('OPTION_REFUSED', 'MongoDB does not tell the fields of an answer before it is there.', {
        retryable: false,
      }),
    );
  }

  readSchema(): Promise<Schema> {
    return readSchema(this.#session.database, async (command) => BSON.deserialize(await this.#ask(command)));
  }

  close(): void {
    this.#broken = true;
    this.#wire.close();
    this.#resume();
  }
}

const readCommands = new Set(['find', 'aggregate', 'count', 'distinct', 'listCollections']);

const newSession = () => ({ id: new Binary(randomBytes(16), Binary.SUBTYPE_UUID) });

function parse(text: string): Document {
  try {
    return EJSON.parse(text, { relaxed: false }) as Document;
  } catch (err) {
    throw unfit(err);
  }
}

function unfit(cause: unknown): HubError {
  return new HubError(
    'SQL_REJECTED',
    'The command holds a value that BSON cannot, such as an $oid that is none.',
    {
      cause,
      retryable: false,
    },
  );
}

/** The server would name documents without an _id, and not tell; the id of a single one is part of the answer. */
function named(command: Document): string | undefined {
  if (!Array.isArray(command.documents)) return undefined;
  command.documents = command.documents.map((document: Document) =>
    isDocument(document) && !Object.hasOwn(document, '_id') ? { _id: new ObjectId(), ...document } : document,
  );
  const [only, ...more] = command.documents as Document[];
  return more.length === 0 && only?._id instanceof ObjectId ? only._id.toHexString() : undefined;
}

const isDocument = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !('_bsontype' in value);

function toCancelled(err: unknown): unknown {
  const stopped =
    err instanceof HubError && (err.code === 'STATEMENT_TIMEOUT' || err.code === 'SOURCE_BROKEN');
  return stopped ? new HubError('CANCELLED', 'The command was stopped.', { cause: err }) : err;
}
