import { mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import type { Doc, DocumentStore } from '../../src/index.ts';
import { formatVersion, openDocumentStore } from '../../src/index.ts';
import { compactSqliteFile } from '../../src/sqlite/compact.ts';
import { openSqliteStore } from '../../src/sqlite/store.ts';
import { describeDocumentStore } from '../conformance/index.ts';

const dir = mkdtempSync(join(tmpdir(), 'document-store-'));
afterAll(() => rmSync(dir, { recursive: true }));

describeDocumentStore('SQLite in a file', async (specs) =>
  openSqliteStore(join(dir, 'conformance.db'), specs),
);
describeDocumentStore('SQLite in memory', (specs) => openDocumentStore('sqlite::memory:', specs));

interface Note extends Doc {
  text: string;
  topic?: string;
}
const notes = [{ name: 'notes', indexes: ['topic'], summary: { by: 'topic', fields: ['text'] } }];
const note = (id: string, text = id, more: Partial<Note> = {}): Note => ({
  id,
  accountId: 'a',
  version: 1,
  text,
  ...more,
});
const unavailable = expect.objectContaining({ code: 'UNAVAILABLE' });

async function using<R>(store: DocumentStore, work: (store: DocumentStore) => Promise<R>): Promise<R> {
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

describe('the embedded store', () => {
  it('makes its directory, and keeps everything for the next start', async () => {
    const path = join(dir, 'new', 'deep', 'hub.db');
    await using(await openDocumentStore(`sqlite:${path}`, notes), (store) =>
      store.collection<Note>('notes').insert(note('n1')),
    );
    await using(openSqliteStore(path, notes), async (store) => {
      expect(await store.collection<Note>('notes').get('a', 'n1')).toEqual(note('n1'));
    });
  });

  it('deletes many large documents in several commits', async () => {
    await using(openSqliteStore(join(dir, 'large.db'), notes), async (store) => {
      const collection = store.collection<Note>('notes');
      const text = 'x'.repeat(1_000_000);
      for (let i = 0; i < 20; i++) await collection.insert(note(`n${i}`, text));
      let isDone = false;
      const deleting = collection.deleteMany({ accountId: 'a', limit: 18 }).finally(() => {
        isDone = true;
      });
      // The first shares a commit with the beginning of the deletion.
      await collection.insert(note('y'));
      await collection.insert(note('z'));
      expect(isDone).toBe(false);
      expect(await deleting).toBe(18);
      expect(await collection.count({ accountId: 'a' })).toBe(4);
    });
  });

  it('follows a link to its file', async () => {
    const path = join(dir, 'linked.db');
    await openSqliteStore(path, notes).close();
    const link = join(dir, 'new', 'link.db');
    symlinkSync(path, link);
    await using(openSqliteStore(link, notes), (store) => store.collection<Note>('notes').insert(note('n1')));
    await using(openSqliteStore(path, notes), async (store) => {
      expect(await store.collection<Note>('notes').get('a', 'n1')).toEqual(note('n1'));
    });
  });

  it('serves one process and says so to a second', async () => {
    const path = join(dir, 'locked.db');
    await using(openSqliteStore(path, notes), async (store) => {
      expect(() => openSqliteStore(path, notes)).toThrow(/Another process has the store file open/);
      await store.collection<Note>('notes').insert(note('still-works'));
    });
    await using(openSqliteStore(path, notes), (store) => store.health());
  });

  it('marks an older file, so that an older hub refuses it', async () => {
    const path = join(dir, 'older.db');
    await openSqliteStore(path, notes).close();
    const inFile = (work: (db: DatabaseSync) => unknown) => {
      const db = new DatabaseSync(path);
      try {
        return work(db);
      } finally {
        db.close();
      }
    };
    inFile((db) => db.exec('PRAGMA user_version = 1'));
    await openSqliteStore(path, notes).close();
    expect(inFile((db) => db.prepare('PRAGMA user_version').get())).toEqual({ user_version: formatVersion });
  });

  it('refuses a file of a newer format, and a file that is not its own', async () => {
    const newer = join(dir, 'newer.db');
    await openSqliteStore(newer, notes).close();
    const db = new DatabaseSync(newer);
    db.exec(`PRAGMA user_version = ${formatVersion + 1}`);
    db.close();
    expect(() => openSqliteStore(newer, notes)).toThrow(/format 3.*Start a newer version/);
    const other = join(dir, 'other.db');
    const foreign = new DatabaseSync(other);
    foreign.exec('CREATE TABLE theirs (x)');
    foreign.close();
    expect(() => openSqliteStore(other, notes)).toThrow(/other data/);
  });

  it('derives columns and indexes anew when a collection gets more of them', async () => {
    const path = join(dir, 'evolving.db');
    await using(openSqliteStore(path, [{ name: 'notes' }]), (store) =>
      store.collection<Note>('notes').insert(note('n1', 'text', { topic: 'old' })),
    );
    const more = [{ ...notes[0], name: 'notes', counters: ['reads'] }];
    await using(openSqliteStore(path, more), async (store) => {
      const collection = store.collection<Note>('notes');
      expect(await collection.findSummaries({ accountId: 'a', where: { topic: 'old' }, limit: 5 })).toEqual([
        { id: 'n1', text: 'text' },
      ]);
      expect(await collection.add('a', 'n1', { counter: 'reads', by: 1 })).toBe(1);
    });
  });

  it('commits all writes of one turn together and in order', async () => {
    await using(openSqliteStore(':memory:', notes), async (store) => {
      const collection = store.collection<Note>('notes');
      const results = await Promise.allSettled([
        collection.insert(note('x')),
        collection.insert(note('x')),
        collection.replace(note('x', 'second', { version: 2 })),
        collection.insert(note('x')),
        collection.delete('a', 'x', { version: 2 }),
      ]);
      expect(results.map((result) => result.status)).toEqual([
        'fulfilled',
        'rejected',
        'fulfilled',
        'rejected',
        'fulfilled',
      ]);
      expect(await collection.count({ accountId: 'a' })).toBe(0);
    });
  });

  it('acknowledges nothing on a full disk, goes on reading, and heals', async () => {
    await using(openSqliteStore(join(dir, 'full.db'), notes, { pagesMax: 60 }), async (store) => {
      const collection = store.collection<Note>('notes');
      const kept: string[] = [];
      let failed: unknown;
      for (let i = 0; failed === undefined; i += 1) {
        const batch = [`${i}a`, `${i}b`];
        const results = await Promise.allSettled(
          batch.map((id) => collection.insert(note(id, 'x'.repeat(4000)))),
        );
        failed = results.find((result) => result.status === 'rejected')?.reason;
        if (failed === undefined) kept.push(...batch);
      }
      expect(failed).toEqual(unavailable);
      expect(String(failed)).not.toMatch(/sqlite|disk image/i);
      await expect(
        store.health().then(() => collection.insert(note('big', 'x'.repeat(9000)))),
      ).rejects.toEqual(unavailable);
      const found = await collection.find({ accountId: 'a', limit: 100 });
      expect(found.map((doc) => doc.id).sort()).toEqual(kept.sort());
      expect(await collection.count({ accountId: 'a' })).toBe(kept.length);
      await collection.deleteMany({ accountId: 'a', limit: 5 });
      await collection.insert(note('after', 'x'.repeat(4000)));
      await store.health();
      expect(await collection.count({ accountId: 'a' })).toBe(kept.length - 4);
    });
  });

  it('answers each urgent deletion on a full disk, however many they are, and makes nothing that it refused', async () => {
    const keys = [...notes, { name: 'keys', urgentDeletes: true }];
    const file = join(dir, 'urgent.db');
    const ids = Array.from({ length: 2_000 }, (_, i) => `k${i}`);
    await using(openSqliteStore(file, keys), (store) =>
      store.collection<Note>('keys').insertMany(ids.map((id) => note(id, 'x'.repeat(300)))),
    );
    await using(openSqliteStore(file, keys, { pagesMax: 10 }), async (store) => {
      const [one, two] = ['y'.repeat(5_000_000), 'y'].map((text, i) =>
        store
          .collection<Note>('notes')
          .insert(note(`${i}`, text))
          .catch((err) => err),
      );
      const deleted = ids.map((id) => store.collection<Note>('keys').delete('a', id));
      const last = store
        .collection<Note>('notes')
        .insert(note('last'))
        .catch((err) => err);
      expect(await one).toEqual(unavailable);
      expect(new Set(await Promise.all(deleted))).toEqual(new Set([true]));
      expect(await store.collection<Note>('keys').count({ accountId: 'a' })).toBe(0);
      const results = [await two, await last];
      const found = await Promise.all(
        ['1', 'last'].map((id) => store.collection<Note>('notes').get('a', id)),
      );
      expect(found.map((doc) => doc !== null)).toEqual(results.map((result) => !(result instanceof Error)));
    });
  });

  it('acknowledges nothing after a sync has failed, and goes on reading', async () => {
    let fails = false;
    const sync = async () => {
      if (fails) throw new Error('EIO');
    };
    await using(openSqliteStore(join(dir, 'failed.db'), notes, { sync }), async (store) => {
      const collection = store.collection<Note>('notes');
      await collection.insert(note('before'));
      fails = true;
      // It was committed before, and may be there after a restart.
      await expect(collection.insert(note('cut'))).rejects.toMatchObject({
        code: 'OUTCOME_UNKNOWN',
        retryable: false,
      });
      fails = false;
      await expect(collection.insert(note('after'))).rejects.toThrow(/disk .* has failed/);
      await expect(store.health()).rejects.toEqual(unavailable);
      expect(await collection.get('a', 'before')).toEqual(note('before'));
    });
  });

  it('finishes accepted writes when it closes, and refuses later calls', async () => {
    const store = openSqliteStore(':memory:', notes);
    const collection = store.collection<Note>('notes');
    const accepted = collection.insert(note('last'));
    await Promise.resolve();
    await store.close();
    await store.close();
    await expect(accepted).resolves.toBeUndefined();
    await expect(collection.insert(note('late'))).rejects.toEqual(unavailable);
    await expect(collection.get('a', 'last')).rejects.toEqual(unavailable);
    await expect(store.health()).rejects.toEqual(unavailable);
  });

  it('returns the space of deleted documents to the disk, also of a file that was made without that', async () => {
    const path = join(dir, 'shrinks.db');
    const fill = async (store: DocumentStore) => {
      const docs = Array.from({ length: 1_000 }, (_, i) => note(`n${i}`, 'x'.repeat(8_000)));
      await store.collection<Note>('notes').insertMany(docs);
      await store.collection<Note>('notes').deleteMany({ accountId: 'a', limit: 990 });
    };
    const shrink = async (store: DocumentStore) => {
      while ((await store.shrink(100)) > 0);
    };
    await using(openSqliteStore(path, notes), async (store) => {
      await fill(store);
      await shrink(store);
    });
    expect(statSync(path).size).toBeLessThan(2_000_000);
    const old = join(dir, 'grown.db');
    new DatabaseSync(old).close();
    const made = new DatabaseSync(old);
    made.exec('PRAGMA auto_vacuum = NONE; CREATE TABLE x (y); DROP TABLE x');
    made.close();
    await using(openSqliteStore(old, notes), async (store) => {
      await fill(store);
      await shrink(store);
      await expect(compactSqliteFile(old)).rejects.toThrow(/Another process has the store file open/);
    });
    const { bytesBefore, bytesAfter } = await compactSqliteFile(old);
    expect([bytesBefore, bytesAfter]).toEqual([
      expect.toSatisfy((bytes) => bytes > 8_000_000),
      expect.toSatisfy((bytes) => bytes < 300_000),
    ]);
    await using(openSqliteStore(old, notes), async (store) => {
      expect(await store.collection<Note>('notes').count({ accountId: 'a' })).toBe(10);
      await fill(store);
      await shrink(store);
    });
    expect(statSync(old).size).toBeLessThan(2_000_000);
    expect(readdirSync(dir).filter((name) => name.startsWith('grown'))).toEqual(['grown.db']);
  });

  it('refuses a URL of a kind it does not know', async () => {
    await expect(openDocumentStore('postgres://x', notes)).rejects.toThrow(/sqlite: or mongodb:/);
  });
});
