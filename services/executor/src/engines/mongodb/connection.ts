/** One session at MongoDB. It runs commands and writes the documents of their cursors directly into the sink. */

import { HubError } from '@datahub/service-kit/call/error';
import { createLoopYield, nextTurn, turnForText } from '@datahub/service-kit/yield-to-loop';
import {
  BSON,
  type ClientSession,
  type Document,
  MongoServerError,
  MongoWriteConcernError,
  ObjectId,
  ReadPreference,
} from 'mongodb';
import type { Connection, Outcome, RunOptions, Schema, Signature, Statement } from '../../ports/engine.ts';
import type { RowSink } from '../../ports/row-sink.ts';
import { changesOf, changesOfFailed, isAtomic } from './changes-before-error.ts';
import type { ClientLease } from './clients.ts';
import {
  brokenError,
  errorOfWhole,
  errorsOf,
  interruptedError,
  isInterruption,
  isLostAtShard,
  isMisread,
  lostAtShardError,
  toHubError,
  toRunError,
  unconfirmedError,
} from './errors.ts';
import type { LongReply } from './long-reply.ts';
import { RawCursor, rawReply } from './raw-cursor.ts';
import { readCommand } from './read-command.ts';
import { DocumentRows, describedFields } from './results.ts';
import { readSchema } from './schema.ts';

export interface MongodbSession {
  lease: ClientLease;
  session: ClientSession;
  database: string;
  readPreference: ReadPreference;
  /** False if the source has no authentication. */
  hasUser: boolean;
  rowBytesMax: number;
  /** True if commands are sent with their comments. */
  comments: boolean;
  longReply: LongReply;
}

/** The number of documents per reply. The first reply has few, so that the first bytes arrive early. */
const batchSizes = { first: 101, next: 1_000 };

export class MongodbConnection implements Connection {
  readonly serverVersion: string;
  readonly #session: MongodbSession;
  /** Aborted when the connection closes. The driver then closes the socket of the pending command. */
  readonly #open = new AbortController();
  readonly #onLost: () => void;
  #broken = false;
  #isBusy = false;
  #cancelling = false;
  #onClose: () => void = () => {};
  #resume: () => void = () => {};

  constructor(session: MongodbSession) {
    this.#session = session;
    const { source } = session.lease;
    this.serverVersion = source.serverVersion;
    this.#onLost = () => {
      this.#broken = true;
      if (!this.#isBusy) this.close();
    };
    source.onLost(this.#onLost);
    source.longReplies.set(idOf(session.session), session.longReply);
  }

  get broken(): boolean {
    return this.#broken;
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  async run(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    this.#cancelling = false;
    this.#isBusy = true;
    try {
      const command = this.#commented(await readCommand(statement.text), statement);
      if (this.#cancelling) throw stoppedError();
      return statement.kind === 'read'
        ? await this.#read(command, sink, options)
        : await this.#write(command, options);
    } catch (caught) {
      const err = this.#toReported(caught);
      throw this.#cancelling ? toCancelled(err, statement.kind) : err;
    } finally {
      this.#session.longReply.end();
      this.#isBusy = false;
    }
  }

  async #read(command: Document, sink: RowSink, options: RunOptions): Promise<Outcome> {
    const { maxRows = Number.POSITIVE_INFINITY, statementTimeoutMs } = options;
    const rows = new DocumentRows({ sink, rowBytesMax: this.#session.rowBytesMax, command });
    const [name = ''] = Object.keys(command);
    const maxTimeMS = Math.ceil(statementTimeoutMs);
    if (name !== 'find' && name !== 'aggregate') {
      const isTimed = name !== 'distinct' || this.#session.lease.source.timesDistinct;
      const timed = isTimed ? { ...command, maxTimeMS } : command;
      const reply = await this.#ask(timed, this.#session.readPreference);
      if (name === 'count') rows.count(reply);
      else
        for (const _ of rows.distinct(reply)) {
          await this.#untilTaken(sink);
          await nextTurn();
        }
      return rows.end();
    }
    const first = Math.min(batchSizes.first, maxRows + 1);
    const sized = name === 'find' ? { batchSize: first } : { cursor: { batchSize: first } };
    const { session, readPreference, longReply } = this.#session;
    const cursor = new RawCursor(
      this.#db,
      { ...command, ...sized, maxTimeMS },
      {
        session,
        readPreference,
        signal: this.#open.signal,
        batchSize: Math.min(batchSizes.next, maxRows + 1),
      },
    );
    const mayYield = createLoopYield();
    try {
      for (let reply = await cursor.next(); reply !== undefined; reply = await cursor.next()) {
        // Large replies that arrive together would else begin in one turn, and a document is written in one piece.
        await turnForText(reply.length);
        for (const _ of rows.batch(reply)) {
          await this.#untilTaken(sink);
          await mayYield();
        }
        longReply.end();
        if (sink.truncated) break;
        await this.#untilTaken(sink);
      }
    } finally {
      // A cancelled command and a lost connection leave no cursor.
      if (!this.#cancelling && !this.#broken) await cursor.close();
    }
    return rows.end();
  }

  /** All commands have a comment since MongoDB 4.4. The statement's own comment stays. */
  #commented(command: Document, { comment }: Statement): Document {
    if (!this.#session.comments || comment === undefined || Object.hasOwn(command, 'comment')) return command;
    return hasComments(this.serverVersion) ? { ...command, comment } : command;
  }

  /** Resolves when the sink has drained, or when the execution is cancelled. */
  async #untilTaken(sink: RowSink): Promise<void> {
    if (sink.full) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
        sink.onDrain(resolve);
      });
    }
    if (this.#cancelling || this.broken) throw brokenError();
  }

  async #write(command: Document, { statementTimeoutMs }: RunOptions): Promise<Outcome> {
    const insertId = named(command);
    const timed = { ...command, maxTimeMS: Math.ceil(statementTimeoutMs) };
    const reply = await this.#ask(timed, ReadPreference.primary).then(decoded, (err) => {
      // The driver reports an unconfirmed write as failed, although it may have taken effect.
      if (err instanceof MongoWriteConcernError) return err.result;
      if (!(err instanceof MongoServerError)) throw err;
      if (isLostAtShard(errorOfWhole(err))) throw lostAtShardError(err);
      const changes = changesOfFailed(command, err.code);
      if (changes.areAll) throw err;
      throw isInterruption(err.code) ? interruptedError(err) : toHubError(errorOfWhole(err), changes);
    });
    const errors = errorsOf(reply);
    const [error] = errors;
    if (error !== undefined) {
      if (errors.some(isLostAtShard)) throw lostAtShardError();
      if (isInterruption(error.code) && !isAtomic(command)) throw interruptedError();
      throw reply.writeErrors === undefined
        ? unconfirmedError()
        : toHubError(error, changesOf(command, reply));
    }
    return {
      hasRows: false,
      affectedRows: Number(reply.n ?? 0),
      ...(insertId === undefined ? {} : { insertId }),
    };
  }

  get #db() {
    const { lease, database } = this.#session;
    return lease.source.client.db(database);
  }

  /** Resolves to the whole reply of a successful command. */
  #ask(command: Document, readPreference: ReadPreference): Promise<Buffer> {
    const { session } = this.#session;
    return rawReply(this.#db, command, { session, readPreference, signal: this.#open.signal });
  }

  /**
   * Converts an error. After a malformed reply the connection is broken, because the rest of the stream cannot be
   * trusted.
   */
  #toReported(caught: unknown): unknown {
    if (isMisread(caught)) this.close();
    const err = toRunError(caught, this.#session);
    if (err.code === 'SOURCE_BROKEN') this.#broken = true;
    return err;
  }

  /**
   * Cancels over another socket of the client. If that socket may reach another server, the connection is closed
   * instead.
   */
  async cancel(signal: AbortSignal): Promise<void> {
    this.#cancelling = true;
    const { lease, session } = this.#session;
    this.#resume();
    if (!lease.source.isStoppable) throw brokenError();
    await lease.source.client.db('admin').command({ killSessions: [session.id] }, { signal });
  }

  async ping(): Promise<void> {
    try {
      await this.#ask({ ping: 1 }, this.#session.readPreference);
    } catch (err) {
      throw this.#toReported(err);
    }
  }

  /** MongoDB cannot describe commands. The fields are known only if the command itself names them. */
  async describe({ text, kind }: Statement): Promise<Signature> {
    const columns = kind === 'read' ? describedFields(await readCommand(text)) : [];
    if (columns !== undefined) return { columns, parameters: [] };
    throw new HubError(
      'OPTION_REFUSED',
      'The fields of the result are unknown before the command runs, because it does not name them.',
      { retryable: false },
    );
  }

  async readSchema(): Promise<Schema> {
    const { database, readPreference } = this.#session;
    try {
      return await readSchema(database, (command) => this.#ask(command, readPreference));
    } catch (err) {
      throw this.#toReported(err);
    } finally {
      this.#session.longReply.end();
    }
  }

  close(): void {
    if (this.#open.signal.aborted) return;
    this.#broken = true;
    const { lease, session, longReply } = this.#session;
    lease.source.offLost(this.#onLost);
    lease.source.longReplies.delete(idOf(session));
    longReply.close();
    this.#open.abort(brokenError());
    this.#resume();
    void session.endSession().catch(() => {});
    lease.release();
    this.#onClose();
  }
}

const idOf = (session: ClientSession): string => session.id?.id.toString('hex') ?? '';

/** A server cuts long messages within a character. */
async function decoded(reply: Buffer): Promise<Document> {
  await turnForText(reply.length);
  return BSON.deserialize(reply, { validation: { utf8: false } });
}

function hasComments(version: string): boolean {
  const [, major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 4 || (Number(major) === 4 && Number(minor) >= 4);
}

/**
 * Adds the missing `_id` of documents, because the server would generate it without reporting it. Returns the id if
 * there is one document.
 */
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

/** A write that lost its connection may have been carried out, even if it was cancelled. */
function toCancelled(err: unknown, kind: Statement['kind']): unknown {
  const stopped =
    err instanceof HubError &&
    (err.code === 'STATEMENT_TIMEOUT' || (err.code === 'SOURCE_BROKEN' && kind === 'read'));
  return stopped ? stoppedError(err) : err;
}

const stoppedError = (cause?: unknown) => new HubError('CANCELLED', 'The command was stopped.', { cause });
