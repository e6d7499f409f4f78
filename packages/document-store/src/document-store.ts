/**
 * The document store: the port for everything that the hub stores.
 *
 * A document is plain JSON data with an id, an account and a version. Every call except `getUnique`, `scan` and
 * `sweepExpired` names the account, which is part of every filter. One call is one atomic write of one document and of
 * the documents beside it (`CompanionWrite`). There are no transactions across calls (see `insertMany`).
 *
 * Errors are `HubError`s:
 * - `CONFLICT`: the id or a unique value exists already.
 * - `UNAVAILABLE`: the store is unreachable, full or closed, and nothing was written.
 * - `OUTCOME_UNKNOWN`: the write was sent and not answered, or the disk failed after a commit. The id (insert) or the
 *   version (replace, delete) makes it safe to repeat.
 * - `VALIDATION`: the document or filter has a value that a store cannot return exactly.
 * - `TOO_LARGE`: the document is larger than `documentSizeMax`.
 */

/**
 * What a store says of itself, so that older versions of the hub refuse it. Incremented when they could not read a
 * document, or would ignore what limits a key.
 */
export const formatVersion = 2;

/** In bytes, of body and byte fields together. It is the same for every adapter, so that data can move between them. */
export const documentSizeMax = 15 * 1024 * 1024;

/** The characters of documents that `findDue` reads: it ends after the document that exceeds them. */
export const dueCharactersMax = 4 * 1024 * 1024;

/** Ids have 1 to this many printable ASCII characters without space; account ids also have no `/`. */
export const idLengthMax = 512;

export interface Doc {
  /** Unique within the account and compared byte by byte. Time-ordered ids sort by creation. */
  id: string;
  accountId: string;
  /** 1 or more. Each `replace` increments it by one. */
  version: number;
}

/** The values of indexed and summary fields, and of filters. An absent field counts as null. */
export type Scalar = string | number | null;

/** All field names are top-level members of the document. */
export interface CollectionSpec {
  name: string;
  /** Fields usable in `where`. */
  indexes?: string[];
  /**
   * Fields of `indexes` that are filtered together in large collections. A filter by two fields that are no pair looks at
   * all documents with the value of the first.
   */
  pairs?: [string, string][];
  /** Fields that are unique across accounts, for `getUnique`: a non-empty string in every document. */
  unique?: string[];
  /**
   * Texts that at most one document has, among those of the account, or of the account with the same value of `within`.
   * Any number of documents may have none. `field` and `within` are of `indexes`.
   */
  uniqueWithin?: { field: string; within?: string }[];
  /** Numbers that only `add` changes: `insert` sets them (0 if absent), `replace` leaves them. */
  counters?: string[];
  /** Fields for a `Uint8Array` or nothing. Bytes in other fields are rejected. */
  bytes?: string[];
  /**
   * `findSummaries` with `by` in `where`, or with no `where` if there is no `by`, reads these fields from one covering
   * index and not from the documents. `by` is one of `indexes`.
   */
  summary?: { by?: string; fields: string[] };
  /** Whether a change may also write a document of another collection; see `CompanionWrite`. */
  outbox?: boolean;
  /** Deletes work on a full disk, too: SQLite's store keeps a reserve for them. MongoDB's servers have their own disks. */
  urgentDeletes?: boolean;
  /** The field with the time (ms since 1970) from which `findDue` finds the document; null for never. */
  due?: string;
  /** The field with the time (ms since 1970) from which `sweepExpired` removes the document; null for never. */
  expires?: string;
  /** With `expires`: documents with different values of this field are swept apart. */
  expiresBy?: string;
  /** Fields that no older document has, so that a new release need not look for them in a large collection. */
  fresh?: string[];
}

/** `afterId` and `beforeId` are exclusive. */
export interface Filter {
  accountId: string;
  where?: Record<string, Scalar>;
  idPrefix?: string;
  afterId?: string;
  beforeId?: string;
}

/** Ordered by id. `limit` is required, so that every read is bounded. */
export interface Page extends Filter {
  limit: number;
  offset?: number;
  descending?: boolean;
  /** Ends the page after the document with which the documents have more characters than this. */
  charactersMax?: number;
}

export interface Due<T> {
  found: T[];
  /** False if more may be due. */
  isAll: boolean;
}

export interface Scan {
  after?: Position | undefined;
  limit: number;
  /** As of a `Page`. */
  charactersMax?: number;
}

/**
 * A new document, written atomically with a change of another one. SQLite writes both in one commit, and rejects both if
 * the id exists. MongoDB writes it into an outbox of the changed document, and from there to its collection before the call
 * resolves, or at the next `settle` if that fails. There an id that exists counts as written. Several are written in their
 * order, so the last one shows that all are written.
 */
export interface CompanionWrite {
  collection: string;
  doc: Doc;
}

export type CompanionWrites = CompanionWrite | readonly CompanionWrite[];

/** A change of a counter; `by` may be negative. */
export interface CounterStep {
  counter: string;
  by: number;
}

export interface DeleteGuard {
  /** Delete only this version. */
  version?: number;
  /** Delete only if this counter is zero, checked in the same atomic step. */
  zero?: string;
  /** Written if and only if the document is deleted. */
  companion?: CompanionWrites | undefined;
}

export interface Position {
  accountId: string;
  id: string;
}

export type Summary = Record<string, Scalar> & { id: string };

export interface Collection<T extends Doc> {
  insert(doc: T, companion?: CompanionWrites): Promise<void>;
  /**
   * Inserts those whose ids do not exist, and leaves those that do as they are, so that it may be repeated. With a unique
   * value that exists it rejects with CONFLICT: then SQLite has inserted none, and MongoDB those without a conflict. If a
   * partial batch would be wrong, insert one document.
   */
  insertMany(docs: readonly T[]): Promise<void>;
  get(accountId: string, id: string): Promise<T | null>;
  /** For lookups that find the account, such as that of a key by its hash. */
  getUnique(field: string, value: string): Promise<T | null>;
  /** Compare-and-set: false if the stored version is not `doc.version - 1`, or there is no document. */
  replace(doc: T, companion?: CompanionWrites): Promise<boolean>;
  /** False if there is no document or the guard does not hold. */
  delete(accountId: string, id: string, guard?: DeleteGuard): Promise<boolean>;
  /** Deletes the first `limit` documents of the filter and returns how many. It is not atomic as a whole. */
  deleteMany(filter: Filter & { limit: number }): Promise<number>;
  find(page: Page): Promise<T[]>;
  /** Reads only the id and the summary fields; absent fields are null. */
  findSummaries(page: Page): Promise<Summary[]>;
  count(filter: Filter): Promise<number>;
  /** Atomic. Returns the new value, or null if there is no such document. Does not change the version. */
  add(accountId: string, id: string, step: CounterStep): Promise<number | null>;
  /** Across all accounts, ordered by account and id, for maintenance that visits everything, such as resealing credentials. */
  scan(options: Scan): Promise<T[]>;
  /** Across all accounts: those whose `due` has come, the earliest first, and fewer of large ones than `limit`. */
  findDue(nowMs: number, limit: number): Promise<Due<T>>;
  /**
   * Across all accounts. Removes at most `limit` expired documents and returns how many. `by`: those with this value of
   * `expiresBy`; null, the default, for those without a value.
   */
  sweepExpired(nowMs: number, limit: number, by?: Scalar): Promise<number>;
}

export interface BackupOptions {
  /** Replaces an existing file once the new one is complete. */
  overwrite?: boolean | undefined;
  /** Cancels the backup. */
  signal?: AbortSignal | undefined;
  /** Called after each step with the copied share, from 0 to 1. */
  onProgress?: ((share: number) => void) | undefined;
}

export interface DocumentStore {
  /** Throws for a name that was not declared when the store was opened. */
  collection<T extends Doc>(name: string): Collection<T>;
  /** Empties the outboxes that a crash or a lost connection left. */
  settle(): Promise<void>;
  /** Rejects with `UNAVAILABLE` if writes would fail. */
  health(): Promise<void>;
  /**
   * Copies an embedded store to a new file while it serves: a consistent snapshot with every acknowledged write. MongoDB
   * has its own tools. Rejects with `CONFLICT` if the file exists, and `UNAVAILABLE` if it cannot be written or the store is damaged; then it
   * leaves no file. The messages contain paths: they are for operators.
   */
  backup(path: string, options?: BackupOptions): Promise<void>;
  /**
   * Returns free space of an embedded store to its file system, at most so many pages of 4 KiB, and resolves with how many.
   * It keeps some for new documents. MongoDB's servers reuse their space themselves.
   */
  shrink(pagesMax: number): Promise<number>;
  /** Completes accepted writes. Later calls reject with `UNAVAILABLE`. Idempotent. */
  close(): Promise<void>;
}
