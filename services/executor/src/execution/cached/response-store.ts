/** Caches answers in memory, bounded in bytes in total and for each account. Evicts the least recently used first. */

import { KeysById } from '../../definitions/keys-by-id.ts';

export interface CachedResponse {
  readonly bytes: Buffer;
  readonly etag: string;
  /** True if a limit cut the rows. */
  readonly truncated: boolean;
  readonly rowCount: number;
}

export interface CacheEntry {
  readonly accountId: string;
  /** The ids of the query and the source. A change of one invalidates the entry. */
  readonly ids: readonly string[];
  /** Undefined if the answer is too large to cache. */
  readonly answer: CachedResponse | undefined;
  /**
   * The start of the execution, or of the validation that renewed the entry. The age of the answer counts from here.
   */
  readonly freshAt: number;
  /** The start of the statement of that execution or validation. */
  readonly runAt: number;
  /** The start of the execution that fetched the answer. */
  readonly ranAt: number;
  /** A digest of the value of `validate` in the snapshot of the answer. */
  readonly validation?: string | undefined;
}

/** The memory of an entry besides its answer: its key, objects and map entries. */
const entryBytes = 1_024;

interface Reads {
  readers: number;
  /** What is counted beside the entries. */
  bytes: number;
}

interface Account {
  bytes: number;
  /** The least recently used first. */
  entries: Map<string, CacheEntry>;
}

export class ResponseStore {
  /** The bytes of entries, and of answers that are being fetched or read. */
  bytes = 0;
  readonly responseBytesMax: number;
  readonly #bytesMax: number;
  /** The least recently used first. */
  readonly #entries = new Map<string, CacheEntry>();
  readonly #accounts = new Map<string, Account>();
  readonly #keys = new KeysById();
  readonly #reads = new Map<CachedResponse, Reads>();
  /** The key of the most recently used entry. */
  #newest: string | undefined;

  constructor({ bytesMax }: { bytesMax: number }) {
    this.#bytesMax = bytesMax;
    this.responseBytesMax = Math.floor(bytesMax / 8);
  }

  /** False if the cache is turned off. */
  get isOn(): boolean {
    return this.#bytesMax > 0;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): CacheEntry | undefined {
    return this.#entries.get(key);
  }

  /** Marks the entry as used. */
  touch(key: string, entry: CacheEntry): void {
    if (key === this.#newest) return;
    this.#newest = key;
    const { entries } = this.#account(entry.accountId);
    for (const map of [this.#entries, entries]) {
      map.delete(key);
      map.set(key, entry);
    }
  }

  /** Removes the old entry of the key. Stores the new one if there is room. */
  put(key: string, entry: CacheEntry): void {
    this.delete(key);
    if (!this.reserve(entry.accountId, sizeOf(entry))) return;
    this.#newest = key;
    this.#entries.set(key, entry);
    this.#account(entry.accountId).entries.set(key, entry);
    this.#keys.add(key, entry.ids);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#accounts.get(entry.accountId)?.entries.delete(key);
    this.#keys.remove(key, entry.ids);
    const reads = entry.answer && this.#reads.get(entry.answer);
    if (reads === undefined) this.release(entry.accountId, sizeOf(entry));
    else reads.bytes += sizeOf(entry);
  }

  /** Counts an answer until it was read, also if its entry is removed meanwhile, or was never stored. */
  async whileRead(key: string, entry: CacheEntry, reading: Promise<void>): Promise<void> {
    const { accountId } = entry;
    const answer = entry.answer as CachedResponse;
    const reads = this.#reads.get(answer) ?? this.#beginReads(answer, entry, this.get(key) === entry);
    reads.readers++;
    try {
      await reading;
    } finally {
      if (--reads.readers === 0) {
        this.#reads.delete(answer);
        this.release(accountId, reads.bytes);
      }
    }
  }

  #beginReads(answer: CachedResponse, entry: CacheEntry, isStored: boolean): Reads {
    const reads = { readers: 0, bytes: isStored ? 0 : sizeOf(entry) };
    this.#reads.set(answer, reads);
    this.#account(entry.accountId).bytes += reads.bytes;
    this.bytes += reads.bytes;
    return reads;
  }

  /** Reserves bytes, and evicts entries to make room. Returns false if that is not enough. */
  reserve(accountId: string, bytes: number): boolean {
    const account = this.#account(accountId);
    const accountBytesMax = this.#bytesMax / 4;
    while (account.bytes + bytes > accountBytesMax) if (!this.#evict(account.entries)) break;
    while (this.bytes + bytes > this.#bytesMax) if (!this.#evict(this.#entries)) break;
    const hasRoom = account.bytes + bytes <= accountBytesMax && this.bytes + bytes <= this.#bytesMax;
    if (hasRoom) {
      // Eviction may have removed the account.
      this.#account(accountId).bytes += bytes;
      this.bytes += bytes;
    } else this.release(accountId, 0);
    return hasRoom;
  }

  release(accountId: string, bytes: number): void {
    const account = this.#account(accountId);
    account.bytes -= bytes;
    this.bytes -= bytes;
    if (account.bytes === 0) this.#accounts.delete(accountId);
  }

  /** Removes the entries that depend on one of these ids. */
  invalidate(ids: readonly string[]): void {
    for (const key of this.#keys.of(ids)) this.delete(key);
  }

  #evict(entries: Map<string, CacheEntry>): boolean {
    const oldest = entries.keys().next();
    if (oldest.done) return false;
    this.delete(oldest.value);
    return true;
  }

  #account(accountId: string): Account {
    const known = this.#accounts.get(accountId);
    if (known !== undefined) return known;
    const account = { bytes: 0, entries: new Map() };
    this.#accounts.set(accountId, account);
    return account;
  }
}

const sizeOf = ({ answer }: CacheEntry): number => entryBytes + (answer?.bytes.length ?? 0);
