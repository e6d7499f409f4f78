import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { HubError } from '@datahub/service-kit/call/error';
import { toShapes } from '../collection-spec.ts';
import type { Beside, CollectionSpec, DocumentStore } from '../document-store.ts';
import { copySqliteFile } from './backup.ts';
import { createSqliteCollection } from './collection.ts';
import { createCommits } from './commits.ts';
import { fromSqlite, isLocked, unavailable } from './errors.ts';
import { createPrepare } from './reads.ts';
import { prepareSchema } from './schema.ts';
import { type Log, openLog, type Sync, syncFile } from './wal.ts';

export interface SqliteOptions {
  /** The most pages of 4 KiB the file may take; SQLite's own bound when absent. */
  pagesMax?: number;
  /** `fdatasync` when absent. */
  sync?: Sync;
}

/**
 * The embedded store: one SQLite file, write-ahead log, every acknowledged commit synced to disk. The file belongs to one
 * process at a time, held by an exclusive lock that ends with the process, however it ends.
 *
 * @param path a file, made with its directory when missing, or `:memory:`
 */
export function openSqliteStore(
  path: string,
  specs: readonly CollectionSpec[],
  options: SqliteOptions = {},
): DocumentStore {
  const shapes = toShapes(specs);
  const db = openFile(path, options);
  try {
    prepareSchema(db, shapes);
    return createStore(db, shapes, openLog(db, path, options.sync ?? syncFile));
  } catch (err) {
    db.close();
    throw fromSqlite(err);
  }
}

function openFile(path: string, { pagesMax }: SqliteOptions): DatabaseSync {
  if (path !== ':memory:') makeFile(path);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout: 0, enableForeignKeyConstraints: false });
    db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    db.exec('PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864');
    if (pagesMax !== undefined) db.exec(`PRAGMA max_page_count = ${pagesMax}`);
    // Takes the lock now, so that a second process fails here and not at its first write.
    db.exec('BEGIN IMMEDIATE; COMMIT');
    return db;
  } catch (err) {
    db?.close();
    if (!isLocked(err)) throw fromSqlite(err);
    throw new HubError(
      'UNAVAILABLE',
      'Another process has the store file open. An embedded store serves one process: stop the other one, or use MongoDB for several.',
      { cause: err },
    );
  }
}

/** Only the owner may read the file. It is opened only to be made: closing it again would drop a lock on it. */
function makeFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    closeSync(openSync(path, 'wx', 0o600));
  } catch (err) {
    if (err instanceof Error && 'code' in err && err.code === 'EEXIST') return;
    throw unavailable('The store file cannot be made. Check the directory in the store URL.', err);
  }
}

function createStore(db: DatabaseSync, shapes: ReturnType<typeof toShapes>, log: Log): DocumentStore {
  const collections = new Map<string, ReturnType<typeof createSqliteCollection>>();
  const commits = createCommits(db, log, () => {
    for (const collection of collections.values()) collection.forget();
  });
  const prepare = createPrepare(db);
  const find = (name: string) => {
    const found = collections.get(name);
    if (found === undefined) throw new TypeError(`The collection ${name} was not declared at opening.`);
    return found;
  };
  const context = {
    prepare,
    commits,
    isOpen: () => db.isOpen,
    toInsert: ({ collection, doc }: Beside) => find(collection).toInsert(doc),
  };
  for (const shape of shapes) collections.set(shape.name, createSqliteCollection(context, shape));
  const closing = new AbortController();
  const copies = new Set<Promise<void>>();
  return {
    collection: (name) => find(name).typed(),
    async settle() {
      // One commit takes both: nothing is ever left.
    },
    async health() {
      if (!db.isOpen) throw unavailable('The store is closed.');
      // After a failed commit only a commit can tell that the disk is well again.
      if (commits.failure() !== undefined) {
        await commits.run(() =>
          prepare('INSERT OR REPLACE INTO probe (id, at) VALUES (1, unixepoch())').run(),
        );
      }
    },
    async backup(path, options = {}) {
      if (!db.isOpen) throw unavailable('The store is closed.');
      const signals = [closing.signal, ...(options.signal === undefined ? [] : [options.signal])];
      const copying = copySqliteFile(db, path, { ...options, signal: AbortSignal.any(signals) });
      copies.add(copying);
      await copying.finally(() => copies.delete(copying));
    },
    async close() {
      closing.abort();
      // The file is not to be closed under them.
      await Promise.allSettled(copies);
      await commits.close();
      if (db.isOpen) log.close(() => db.close());
    },
  };
}
