/**
 * The document store: the one port behind which the hub keeps what it owns.
 *
 * A document is plain JSON data with an id, an account and a version. Every call but three names the account, and
 * the account is part of every filter an adapter makes; the three (`getUnique`, `scan`, `sweepExpired`) say why.
 * One call is one atomic write of one document, and of what is written beside it (`Beside`); there is no transaction
 * across calls (see `insertMany`).
 *
 * Errors are `HubError`s:
 * - `CONFLICT`: the id or a unique value is taken.
 * - `UNAVAILABLE`: the store is away, full or closed, and nothing of the write was kept.
 * - `OUTCOME_UNKNOWN`: the write was sent and its answer never came, or the disk failed after a commit. A caller that
 *   repeats it relies on the id (insert) or the version (replace, delete).
 * - `VALIDATION`: the document or filter holds what no store can give back exactly.
 * - `TOO_LARGE`: the document is over `documentSizeMax`.
 */

/** In bytes, of body and byte fields together; the same on every adapter so that data can move between them. */
export const documentSizeMax = 15 * 1024 * 1024;

/** In characters. Ids are 1 to this many printable ASCII characters without space; account ids also without `/`. */
export const idLengthMax = 512;

export interface Doc {
  /** Unique within the account and compared byte by byte. Time-ordered ids make order by id order of creation. */
  id: string;
  accountId: string;
  /** 1 or more; each `replace` raises it by exactly one. */
  version: number;
}

/** What indexed and summary fields hold, and what filters compare with. A field that is absent counts as null. */
export type Scalar = string | number | null;

/** All field names are top-level members of the document. */
export interface CollectionSpec {
  name: string;
  /** Fields usable in `where`. */
  indexes?: string[];
  /** Fields unique over all accounts, for `getUnique`; a non-empty string in every document. */
  unique?: string[];
  /** Numbers moved by `add` alone: `insert` sets them (0 when absent), `replace` leaves them as they are. */
  counters?: string[];
  /** Fields that hold a `Uint8Array` (or nothing). Bytes anywhere else are refused. */
  bytes?: string[];
  /**
   * `findSummaries` with `by` in `where`, or with no `where` if there is no `by`, reads these fields from one covering
   * index and not from the documents. `by` is one of `indexes`.
   */
  summary?: { by?: string; fields: string[] };
  /** Its changes may write a document of another collection beside theirs; see `Beside`. */
  outbox?: boolean;
  /** The field with the moment (ms since 1970) from which `sweepExpired` removes the document; null for never. */
  expires?: string;
}

/** `afterId` and `beforeId` are exclusive. */
export interface Filter {
  accountId: string;
  where?: Record<string, Scalar>;
  idPrefix?: string;
  afterId?: string;
  beforeId?: string;
}

/** Ordered by id. `limit` is required: every read is bounded by a number its caller chose. */
export interface Page extends Filter {
  limit: number;
  offset?: number;
  descending?: boolean;
}

/**
 * A new document of another collection, kept together with a change or not at all. SQLite writes both in one commit, and
 * refuses both where the id is taken. MongoDB writes it into the changed document first and from there to its place:
 * before the call resolves, or at the next `settle` where that fails. There an id that is taken counts as written.
 */
export interface Beside {
  collection: string;
  doc: Doc;
}

export interface DeleteGuard {
  /** Delete only this version. */
  version?: number;
  /** Delete only while this counter is zero, in the same atomic step. */
  zero?: string;
  /** Written if, and only if, the document is deleted. */
  beside?: Beside | undefined;
}

export interface Position {
  accountId: string;
  id: string;
}

export type Summary = Record<string, Scalar> & { id: string };

export interface Collection<T extends Doc> {
  insert(doc: T, beside?: Beside): Promise<void>;
  /**
   * In order. SQLite keeps all or none. MongoDB keeps those before the first that conflicts; where half a batch
   * would be wrong, the batch is one document.
   */
  insertMany(docs: readonly T[]): Promise<void>;
  get(accountId: string, id: string): Promise<T | null>;
  /** For look-ups that find the account, as that of a key by its hash: the one read without an account. */
  getUnique(field: string, value: string): Promise<T | null>;
  /** Compare and set: false when the stored version is not `doc.version - 1`, or nothing is stored. */
  replace(doc: T, beside?: Beside): Promise<boolean>;
  /** False when there is nothing to delete or the guard does not hold. */
  delete(accountId: string, id: string, guard?: DeleteGuard): Promise<boolean>;
  /** Deletes the first `limit` documents of the filter; returns how many. Not atomic as a whole on MongoDB. */
  deleteMany(filter: Filter & { limit: number }): Promise<number>;
  find(page: Page): Promise<T[]>;
  /** Only the id and the summary fields; absent fields are null. */
  findSummaries(page: Page): Promise<Summary[]>;
  count(filter: Pick<Filter, 'accountId' | 'where'>): Promise<number>;
  /** Atomic; returns the new value, or null when there is no such document. Leaves the version as it is. */
  add(accountId: string, id: string, counter: string, by: number): Promise<number | null>;
  /** Over all accounts, by account and id: for upkeep that visits everything, as sealing credentials anew. */
  scan(options: { after?: Position | undefined; limit: number }): Promise<T[]>;
  /** Over all accounts; removes at most `limit` documents whose moment has come and returns how many. */
  sweepExpired(nowMs: number, limit: number): Promise<number>;
}

export interface BackupOptions {
  /** Replaces a file that is there, once the new one is whole. */
  overwrite?: boolean | undefined;
  /** Breaks it off. */
  signal?: AbortSignal | undefined;
  /** Hears after each step how much is copied, from 0 to 1. */
  onProgress?: ((share: number) => void) | undefined;
}

export interface DocumentStore {
  /** Throws for a name that was not declared at opening. */
  collection<T extends Doc>(name: string): Collection<T>;
  /** Brings to its place what a crash or a lost connection left beside changed documents. */
  settle(): Promise<void>;
  /** Rejects with `UNAVAILABLE` while writes would fail. */
  health(): Promise<void>;
  /**
   * Copies the store to a new file while it serves: all that was acknowledged before, and nothing half. Embedded store
   * only; MongoDB has its own tools. Rejects with `CONFLICT` where the file is there, `UNAVAILABLE` where it cannot be
   * written; nothing is left there then. The messages name paths: they are for operators.
   */
  backup(path: string, options?: BackupOptions): Promise<void>;
  /** Finishes what was accepted; later calls reject with `UNAVAILABLE`. Idempotent. */
  close(): Promise<void>;
}
