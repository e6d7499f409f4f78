/** Writes an embedded store anew without its free pages, so that its file is as small as its documents allow. */

import { chmod, chown, open, realpath, rename, stat } from 'node:fs/promises';
import { requireSpace, syncDirectory } from './backup.ts';
import { fromSqlite } from './errors.ts';
import { prepareSchema } from './schema.ts';
import { draftOf, openFile, removeDraft } from './store.ts';

export interface Compacted {
  bytesBefore: number;
  bytesAfter: number;
}

/**
 * No other process may have the file open. The old file stays until the new one is complete and on disk, so the directory
 * needs space for both. Afterwards the file also returns space while it is in use.
 *
 * @param replace renames the new file
 */
export async function compactSqliteFile(
  named: string,
  replace: (from: string, to: string) => Promise<void> = rename,
): Promise<Compacted> {
  const path = await realpath(named);
  const draft = draftOf(path);
  const db = openFile(path, {});
  try {
    removeDraft(path);
    // Refuses files that are no store.
    prepareSchema(db, []);
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const bytesBefore = (await stat(path)).size;
    await requireSpace(db, path);
    await (await open(draft, 'wx', 0o600)).close();
    // Holds for the file that VACUUM INTO writes, and changes nothing in this one.
    db.exec('PRAGMA auto_vacuum = INCREMENTAL');
    db.prepare('VACUUM INTO ?').run(draft);
    const file = await open(draft, 'r+');
    await file.sync().finally(() => file.close());
    const { mode, uid, gid } = await stat(path);
    await chmod(draft, mode & 0o777);
    await chown(draft, uid, gid);
    // Deletes the log of the old file, which does not belong to the new one. The lock stays until the file is replaced: a
    // hub that opened the old one before would write into a file that is gone.
    db.exec('PRAGMA journal_mode = DELETE');
    await replace(draft, path);
    db.close();
    await syncDirectory(path);
    return { bytesBefore, bytesAfter: (await stat(path)).size };
  } catch (err) {
    if (db.isOpen) removeDraft(path);
    throw fromSqlite(err);
  } finally {
    if (db.isOpen) db.close();
  }
}
