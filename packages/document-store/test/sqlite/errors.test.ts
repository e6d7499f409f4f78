import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import type { Doc, DocumentStore } from '../../src/index.ts';
import { fromSqlite } from '../../src/sqlite/errors.ts';
import { openSqliteStore } from '../../src/sqlite/store.ts';

const unavailable = { code: 'UNAVAILABLE', retryable: true };
const sqlite = (errcode: number) => Object.assign(new Error('of /data/catalog.db'), { errcode });

it.each([
  ['PERM', 3],
  ['ABORT', 4],
  ['BUSY', 5],
  ['LOCKED', 6],
  ['NOMEM', 7],
  ['READONLY', 8],
  ['INTERRUPT', 9],
  ['IOERR', 10],
  ['IOERR_FSYNC', 1034],
  ['FULL', 13],
  ['CANTOPEN', 14],
  ['PROTOCOL', 15],
  ['NOLFS', 22],
])('SQLITE_%s is no fault of the hub', (_name, errcode) => {
  const err = sqlite(errcode);
  const converted = fromSqlite(err);
  expect(converted).toMatchObject({ ...unavailable, cause: err });
  expect((converted as Error).message).not.toContain('/data');
});

it.each([
  ['CORRUPT', 11],
  ['NOTADB', 26],
])('SQLITE_%s is nothing that a retry could mend', (_name, errcode) => {
  expect(fromSqlite(sqlite(errcode))).toMatchObject({ code: 'UNAVAILABLE', retryable: false });
});

it('a damaged store is unhealthy from the first read that meets it, though writes succeed', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'document-store-'));
  const path = join(dir, 'damaged.db');
  const notes = (store: DocumentStore) => store.collection<Doc & { text: string }>('notes');
  const note = (id: string) => ({ id, accountId: 'a', version: 1, text: 'x'.repeat(3_000) });
  const before = openSqliteStore(path, [{ name: 'notes' }]);
  for (let i = 0; i < 20; i++) await notes(before).insert(note(`n${i}`));
  await before.close();
  const bytes = readFileSync(path);
  // The pages of the documents, and no others.
  for (let at = bytes.indexOf('xxxx'); at >= 0; at = bytes.indexOf('xxxx', (1 + (at >> 12)) << 12))
    bytes.fill(0xff, (at >> 12) << 12, (1 + (at >> 12)) << 12);
  writeFileSync(path, bytes);
  const store = openSqliteStore(path, [{ name: 'notes' }]);
  await store.health();
  const damaged = { code: 'UNAVAILABLE', message: expect.stringContaining('damaged'), retryable: false };
  await expect(notes(store).find({ accountId: 'a', limit: 100 })).rejects.toMatchObject(damaged);
  await expect(store.health()).rejects.toMatchObject(damaged);
  await expect(store.health()).rejects.toMatchObject(damaged);
  await store.close();
  rmSync(dir, { recursive: true });
});

it('a closed database and a broken disk are no faults of the hub, and a bug stays one', () => {
  const db = new DatabaseSync(':memory:');
  db.close();
  const thrown = (work: () => unknown) => {
    try {
      return work();
    } catch (err) {
      return err;
    }
  };
  expect(fromSqlite(thrown(() => db.prepare('SELECT 1')))).toMatchObject(unavailable);
  expect(fromSqlite(Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'write' }))).toMatchObject(
    unavailable,
  );
  for (const bug of [sqlite(1), new TypeError('no')]) expect(fromSqlite(bug)).toBe(bug);
});

it('answers each call if not even the reserve can be used', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'document-store-'));
  const path = join(dir, 'full.db');
  const store = openSqliteStore(path, [{ name: 'notes', urgentDeletes: true }], { pagesMax: 30 });
  const notes = store.collection<Doc & { text: string }>('notes');
  const insert = (id: string) => notes.insert({ id, accountId: 'a', version: 1, text: 'x'.repeat(4_000) });
  let failed: unknown;
  for (let i = 0; failed === undefined; i++) failed = await insert(`${i}`).catch((err) => err);
  expect(failed).toMatchObject(unavailable);
  // A directory cannot be removed as a file.
  rmSync(`${path}-reserve`, { force: true });
  mkdirSync(`${path}-reserve`);
  const both = await Promise.allSettled([insert('a'), notes.delete('a', '0')]);
  expect(both.map(({ status }) => status)).toContain('rejected');
  for (const one of both) if (one.status === 'rejected') expect(one.reason).toMatchObject(unavailable);
  await store.close();
  rmSync(dir, { recursive: true });
});
