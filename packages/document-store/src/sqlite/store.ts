import { closeSync, openSync, realpathSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { HubError } from '@datahub/service-kit/call/error';
import { createDirectory } from '@datahub/service-kit/process/create-directory';
import { toShapes } from '../collection-spec.ts';
import type { CollectionSpec, CompanionWrite, DocumentStore } from '../document-store.ts';
import { copySqliteFile } from './backup.ts';
import { createSqliteCollection } from './collection.ts';
import { createCommits } from './commits.ts';
import { createPrepare } from './condition.ts';
import { fromSqlite, isLocked, StoreErrors, unavailable } from './errors.ts';
import { createReadTurns } from './read-turns.ts';
import { noReserve, openReserve, type Reserve } from './reserve.ts';
import { pragma, prepareSchema } from './schema.ts';
import { type Log, openLog, type Sync, syncFile } from './wal.ts';

export interface SqliteOptions {
  /** The most pages of 4 KiB in the file; SQLite's own limit by default. */
  pagesMax?: number;
  /** `fdatasync` by default. */
  sync?: Sync;
}

/**
 * The embedded store: one SQLite file with a write-ahead log, in which every acknowledged commit is synced to disk. An
 * exclusive lock, which ends with the process, admits one process at a time.
 *
 * @param path a file, which is created with its directory if it is missing, or `:memory:`
 */
export function openSqliteStore(
  path: string,
  specs: readonly CollectionSpec[],
  options: SqliteOptions = {},
): DocumentStore {
  const shapes = toShapes(specs);
  const db = openFile(path, options);
  try {
    if (path !== ':memory:') removeDraft(realpathSync(path));
    prepareSchema(db, shapes);
    const urgent = new Set(specs.filter((spec) => spec.urgentDeletes).map(({ name }) => name));
    const reserve = urgent.size === 0 || path === ':memory:' ? noReserve : openReserve(path);
    reserve.fill();
    return createStore(db, shapes, { log: openLog(db, path, options.sync ?? syncFile), reserve, urgent });
  } catch (err) {
    db.close();
    throw fromSqlite(err);
  }
}

/** The file that `compactSqliteFile` writes. If it is interrupted, the next run or the next start removes it. */
export const draftOf = (path: string): string => `${path}.compact`;

/** Only for who has locked the file. */
export function removeDraft(path: string): void {
  for (const ending of ['', '-journal']) rmSync(draftOf(path) + ending, { force: true });
}

export function openFile(path: string, { pagesMax }: SqliteOptions): DatabaseSync {
  if (path !== ':memory:') createFile(path);
  let db: DatabaseSync | undefined;
  try {
    db = openWhole(path);
    // An older file is converted by `compactSqliteFile`. In a file that has it, the pragma would write.
    if (pragma(db, 'page_count') === 0) db.exec('PRAGMA auto_vacuum = INCREMENTAL');
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
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

/** Some file systems give a file another number when it is first opened for writing. */
const opensMax = 3;

/** Opens the file and reads it, from when on nobody replaces it. If it was replaced in between, opens the new one. */
function openWhole(path: string): DatabaseSync {
  for (let opens = 1; ; opens++) {
    const file = inodeOf(path);
    const db = new DatabaseSync(path, { timeout: 0, enableForeignKeyConstraints: false });
    try {
      db.exec('PRAGMA locking_mode = EXCLUSIVE');
      pragma(db, 'page_count');
      if (opens === opensMax || inodeOf(path) === file) return db;
    } catch (err) {
      db.close();
      throw err;
    }
    db.close();
  }
}

const inodeOf = (path: string): number => (path === ':memory:' ? 0 : statSync(path).ino);

/** Creates the file for its owner only. An existing file is not opened here, because closing it would drop its lock. */
function createFile(path: string): void {
  try {
    createDirectory(dirname(path));
    closeSync(openSync(path, 'wx', 0o600));
  } catch (err) {
    if (err instanceof Error && 'code' in err && err.code === 'EEXIST') return;
    throw unavailable('The store file cannot be created. Check the directory in the store URL.', err);
  }
}

interface StoreOptions {
  log: Log;
  reserve: Reserve;
  /** The collections with `urgentDeletes`. */
  urgent: ReadonlySet<string>;
}

function createStore(
  db: DatabaseSync,
  shapes: ReturnType<typeof toShapes>,
  { log, reserve, urgent }: StoreOptions,
): DocumentStore {
  const collections = new Map<string, ReturnType<typeof createSqliteCollection>>();
  const afterCommit: (() => void)[] = [];
  const errors = new StoreErrors();
  const commits = createCommits(db, { log, reserve, errors, afterCommit });
  const prepare = createPrepare(db);
  const find = (name: string) => {
    const found = collections.get(name);
    if (found === undefined) throw new TypeError(`The collection ${name} was not declared at opening.`);
    return found;
  };
  const context = {
    prepare,
    turns: createReadTurns(),
    commits,
    afterCommit: (work: () => void) => void afterCommit.push(work),
    urgent,
    isOpen: () => db.isOpen,
    errors,
    toInsert: ({ collection, doc }: CompanionWrite) => find(collection).toInsert(doc),
  };
  for (const shape of shapes) collections.set(shape.name, createSqliteCollection(context, shape));
  const closing = new AbortController();
  const copies = new Map<string, Promise<void>>();
  return {
    collection: (name) => find(name).typed(),
    async settle() {
      // One commit writes both documents, so there are no outboxes.
    },
    async health() {
      if (!db.isOpen) throw unavailable('The store is closed.');
      if (errors.damage !== undefined) throw errors.damage;
      // After a failed commit only another commit can show that the disk works again.
      if (commits.failure() !== undefined) {
        await commits.run(() =>
          prepare('INSERT OR REPLACE INTO probe (id, at) VALUES (1, unixepoch())').run(),
        );
      }
    },
    async backup(path, options = {}) {
      if (!db.isOpen) throw unavailable('The store is closed.');
      // With `overwrite`, the second would remove the file that the first one writes.
      if (copies.has(path)) throw new HubError('CONFLICT', `Another backup to ${path} is running.`);
      const signals = [closing.signal, ...(options.signal === undefined ? [] : [options.signal])];
      const copying = copySqliteFile(db, path, { ...options, signal: AbortSignal.any(signals) });
      copies.set(path, copying);
      await copying.finally(() => copies.delete(path));
    },
    shrink: (pagesMax) => commits.run(() => freePages(db, pagesMax)),
    async close() {
      closing.abort();
      // The file must stay open until they have ended.
      await Promise.allSettled(copies.values());
      await commits.close();
      if (db.isOpen) log.close(() => db.close());
    },
  };
}

/** The share of the file that stays free for new documents. */
const spareShare = 0.1;
const sparePagesMin = 256;
/** The value of `PRAGMA auto_vacuum` of a file that can give pages back. */
const incremental = 2;

/** Truncates the file by free pages, and returns how many. */
function freePages(db: DatabaseSync, pagesMax: number): number {
  if (pragma(db, 'auto_vacuum') !== incremental) return 0;
  const spare = Math.max(sparePagesMin, Math.floor(pragma(db, 'page_count') * spareShare));
  const pages = Math.min(pagesMax, pragma(db, 'freelist_count') - spare);
  if (pages <= 0) return 0;
  db.exec(`PRAGMA incremental_vacuum(${pages})`);
  return pages;
}
