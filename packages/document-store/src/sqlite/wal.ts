import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, realpathSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';

/**
 * The way of SQLite's write-ahead log to the disk. SQLite itself syncs on the thread that commits, where a busy disk
 * stops the event loop for tens of milliseconds; so it is told not to (`synchronous=OFF`), and what it would do is done
 * here, in its order, on the thread pool: the log after each commit; and when the log is moved into the file, the log,
 * then the file, then the emptied log, with no commit in between. A log is begun anew only when it is empty, so its
 * header never stands before frames of an older one (https://www.sqlite.org/wal.html, https://sqlite.org/src/info/ff5be73dee).
 */
export interface Log {
  /** Resolves when all that was committed is on disk. */
  sync(): Promise<void>;
  /** Moves the log into the file when it has grown large. All must be synced, and nothing be committed meanwhile. */
  empty(): Promise<void>;
  /** The same at once, by SQLite itself and whatever the log's size, where the disk lets it. */
  emptyNow(): void;
  /** The database is closed between: a closed file of it would take its lock along. */
  close(closeDatabase: () => void): void;
}

/** Resolves when the file's content and size are on disk. */
export type Sync = (fd: number) => Promise<void>;

/** 1,000 pages, SQLite's own bound for it. */
const logBytesMax = 4_096_000;

export const syncFile: Sync = promisify(fdatasync);

/** Takes a database that has just been read, and so has its log's file. */
export function openLog(db: DatabaseSync, path: string, sync: Sync): Log {
  if (path === ':memory:') return { ...inMemory, close: (closeDatabase) => closeDatabase() };
  let emptiesAt = logBytesMax;
  db.exec('PRAGMA wal_autocheckpoint = 0');
  // Not before the database is open and locked: closing a file of it again would drop the lock of who has it open.
  const fileFd = openSync(path, 'r+');
  // SQLite puts the log beside the file itself, not beside a link to it.
  const logFd = openSync(`${realpathSync(path)}-wal`, 'r+');
  const size = () => fstatSync(logFd).size;
  /** A log that still holds something is begun anew by SQLite only, which syncs its header first. */
  const trust = () => db.exec(`PRAGMA synchronous = ${size() === 0 ? 'OFF' : 'FULL'}`);
  const emptyNow = () => {
    try {
      db.exec('PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)');
      fdatasyncSync(logFd);
      trust();
    } catch {
      // The next commit fails too, and tells.
    }
  };
  emptyNow();
  return {
    sync: () => sync(logFd),
    async empty() {
      if (size() < emptiesAt) return;
      if (!moveLog(db)) {
        emptiesAt = size() + logBytesMax;
        return;
      }
      await sync(fileFd);
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      await sync(logFd);
      trust();
      emptiesAt = logBytesMax;
    },
    emptyNow,
    close(closeDatabase) {
      // Closing moves the log into the file and deletes it.
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

/** False where the file cannot take all of the log, which then stays as it is. */
function moveLog(db: DatabaseSync): boolean {
  try {
    const moved = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
    return moved !== undefined && moved.log === moved.checkpointed;
  } catch {
    return false;
  }
}
