import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Doc, DocumentStore } from '../../src/index.ts';
import { copySqliteFile } from '../../src/sqlite/backup.ts';
import { openSqliteStore } from '../../src/sqlite/store.ts';

interface Note extends Doc {
  text: string;
}
const specs = [{ name: 'notes' }];
const noteCount = 4_000;
const note = (id: string): Note => ({ id, accountId: 'a', version: 1, text: 'y'.repeat(1000) });
const unavailable = expect.objectContaining({ code: 'UNAVAILABLE' });

describe('a copy of the embedded store', () => {
  let dir: string;
  let copy: string;
  let store: DocumentStore;
  const notes = (of = store) => of.collection<Note>('notes');

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'document-store-backup-'));
    copy = join(dir, 'copy.db');
    store = openSqliteStore(join(dir, 'hub.db'), specs);
    await notes().insertMany(Array.from({ length: noteCount }, (_, i) => note(`n${i}`)));
  });
  afterEach(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  it('has all that was acknowledged before it was begun, whole, while others write on', async () => {
    let writes = 0;
    let copying = true;
    const writing = (async () => {
      while (copying) await notes().insert(note(`later${writes++}`));
    })();
    await notes().insert(note('last-before'));
    await store.backup(copy).finally(() => {
      copying = false;
    });
    await writing;
    expect(writes).toBeGreaterThan(0);
    const copied = openSqliteStore(copy, specs);
    const found = await notes(copied).find({ accountId: 'a', idPrefix: 'n', limit: 10_000 });
    expect(found).toEqual(await notes().find({ accountId: 'a', idPrefix: 'n', limit: 10_000 }));
    expect(found).toHaveLength(noteCount);
    expect(await notes(copied).get('a', 'last-before')).toEqual(note('last-before'));
    await copied.close();
  });

  it('is refused for a damaged store, and leaves the older copy', async () => {
    await store.backup(copy);
    const before = readFileSync(copy);
    await store.close();
    const path = join(dir, 'hub.db');
    const file = openSync(path, 'r+');
    const pages = statSync(path).size / 4_096;
    for (let page = 10; page < pages; page += 5) writeSync(file, Buffer.alloc(4_096), 0, 4_096, page * 4_096);
    closeSync(file);
    store = openSqliteStore(path, specs);
    await expect(store.backup(copy, { overwrite: true })).rejects.toThrow(
      'The store is damaged. No backup was made: restore an older one.',
    );
    expect(readFileSync(copy).equals(before)).toBe(true);
    expect(readdirSync(dir).filter((name) => name.startsWith('copy'))).toEqual(['copy.db']);
  });

  it('succeeds each time, whenever it meets a write', async () => {
    const db = new DatabaseSync(join(dir, 'small.db'));
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (b TEXT)');
    const insert = db.prepare("INSERT INTO t VALUES (printf('%0500d', 1))");
    for (let i = 0; i < 2_000; i++) insert.run();
    let copying = true;
    const write = () => {
      db.exec('BEGIN IMMEDIATE');
      insert.run();
      db.exec('COMMIT');
      if (copying) setImmediate(write);
    };
    write();
    try {
      for (let i = 0; i < 60; i++) await copySqliteFile(db, join(dir, 'copies.db'), { overwrite: true });
    } finally {
      copying = false;
      await new Promise(setImmediate);
      db.close();
    }
  });

  it('is for its owner alone, and says how far it is', async () => {
    const shares: number[] = [];
    await store.backup(copy, { onProgress: (share) => shares.push(share) });
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(shares.length).toBeGreaterThan(2);
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect(readdirSync(dir).filter((name) => name.startsWith('copy'))).toEqual(['copy.db']);
  });

  it('replaces no existing file, unless asked to', async () => {
    writeFileSync(copy, 'precious');
    await expect(store.backup(copy)).rejects.toThrow(/copy\.db exists already/);
    expect(statSync(copy).size).toBe('precious'.length);
    await store.backup(copy, { overwrite: true });
    await openSqliteStore(copy, specs).close();
    writeFileSync(join(dir, 'other.db.partial'), '');
    await expect(store.backup(join(dir, 'other.db'))).rejects.toThrow(/partial exists: a backup/);
    await store.backup(join(dir, 'other.db'), { overwrite: true });
    expect(existsSync(join(dir, 'other.db.partial'))).toBe(false);
  });

  it('is refused while another one is written to the same file', async () => {
    const begun = Promise.withResolvers<void>();
    const first = store.backup(copy, { overwrite: true, onProgress: () => begun.resolve() });
    await begun.promise;
    await expect(store.backup(copy, { overwrite: true })).rejects.toThrow(/Another backup to .* is running/);
    await first;
    await openSqliteStore(copy, specs).close();
  });

  it('is not put beside the log of another file, its own store’s neither', async () => {
    const own = expect.objectContaining({ code: 'CONFLICT', message: expect.stringContaining('hub.db-wal') });
    await expect(store.backup(join(dir, 'hub.db'), { overwrite: true })).rejects.toEqual(own);
    expect(await notes().count({ accountId: 'a' })).toBe(noteCount);
  });

  it('fails if there is no directory, and leaves no file when it is cancelled', async () => {
    const missing = store.backup(join(dir, 'missing', 'copy.db'));
    await expect(missing).rejects.toEqual(unavailable);
    await expect(missing).rejects.toThrow(/The directory .*missing/);
    const stopping = new AbortController();
    const stopped = store.backup(copy, { signal: stopping.signal, onProgress: () => stopping.abort() });
    await expect(stopped).rejects.toThrow('The backup was cancelled.');
    expect(readdirSync(dir).filter((name) => name.startsWith('copy'))).toEqual([]);
    await notes().insert(note('after'));
  });

  it('is broken off when the store closes', async () => {
    const begun = Promise.withResolvers<void>();
    const copying = store.backup(copy, { onProgress: () => begun.resolve() });
    const broken = expect(copying).rejects.toEqual(unavailable);
    await begun.promise;
    await store.close();
    await broken;
    expect(readdirSync(dir).filter((name) => name.startsWith('copy'))).toEqual([]);
    store = openSqliteStore(join(dir, 'hub.db'), specs);
    expect(await notes().count({ accountId: 'a' })).toBe(noteCount);
  });
});
