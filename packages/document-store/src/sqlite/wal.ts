import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, realpathSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';

/**
 * Syncs SQLite's write-ahead log. SQLite itself syncs on the thread that commits, where a busy disk blocks the event loop
 * for tens of milliseconds. So its syncs are off (`synchronous=OFF`), and the same syncs run here on the thread pool in the
 * same order: the log after each commit, and at a checkpoint the log, the file and the truncated log, with no commit in
 * between. The log restarts only when it is empty, so its header never precedes frames of an older log
 * (https://www.sqlite.org/wal.html, https://sqlite.org/src/info/ff5be73dee).
 */
export interface Log {
  /** Resolves when all commits are on disk. */
  sync(): Promise<void>;
  /** Checkpoints a large log. All commits must be synced before, and nothing may commit meanwhile. */
  empty(): Promise<void>;
  /** Checkpoints synchronously, whatever the size of the log. Ignores failures. */
  emptyNow(): void;
  /** Calls `closeDatabase` before it closes its own files: closing one of those earlier would drop the database's lock. */
  close(closeDatabase: () => void): void;
}

/** Resolves when the file's content and size are on disk. */
export type Sync = (fd: number) => Promise<void>;

/** 1,000 pages, SQLite's default for automatic checkpoints. */
const logBytesMax = 4_096_000;

export const syncFile: Sync = promisify(fdatasync);

/** The database must have been read before, so that the file of its log exists. */
export function openLog(db: DatabaseSync, path: string, sync: Sync): Log {
  if (path === ':memory:') return { ...inMemory, close: (closeDatabase) => closeDatabase() };
  let checkpointAt = logBytesMax;
  db.exec('PRAGMA wal_autocheckpoint = 0');
  // Only after the database is open and locked: closing the file would drop the lock of another process that has it open.
  const fileFd = openSync(path, 'r+');
  // SQLite creates the log beside the file itself, not beside a symbolic link to it.
  const logFd = openSync(`${realpathSync(path)}-wal`, 'r+');
  const size = () => fstatSync(logFd).size;
  /** If the log is not empty, SQLite must sync itself: it syncs the header when it restarts the log. */
  const setSynchronous = () => db.exec(`PRAGMA synchronous = ${size() === 0 ? 'OFF' : 'FULL'}`);
  const emptyNow = () => {
    try {
      db.exec('PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)');
      fdatasyncSync(logFd);
      setSynchronous();
    } catch {
      // The next commit fails as well and reports the error.
    }
  };
  emptyNow();
  return {
    sync: () => sync(logFd),
    async empty() {
      if (size() < checkpointAt) return;
      if (!checkpoint(db)) {
        checkpointAt = size() + logBytesMax;
        return;
      }
      await sync(fileFd);
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      await sync(logFd);
      setSynchronous();
      checkpointAt = logBytesMax;
    },
    emptyNow,
    close(closeDatabase) {
      // Closing checkpoints the log and deletes it.
      db.exec('PRAGMA synchronous = FULL');
      closeDatabase();
      closeSync(fileFd);
      closeSync(logFd);
    },
  };
}

const inMemory = {
  sync: async () => {},
  empty: async () => {},
  emptyNow: () => {},
};

/** False if the log could not be copied completely; then it stays as it is. */
function checkpoint(db: DatabaseSync): boolean {
  try {
    const moved = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
    return moved !== undefined && moved.log === moved.checkpointed;
  } catch {
    return false;
  }
}
