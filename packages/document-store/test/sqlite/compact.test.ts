import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { compactSqliteFile } from '../../src/sqlite/compact.ts';
import { openSqliteStore } from '../../src/sqlite/store.ts';

const dir = mkdtempSync(join(tmpdir(), 'document-store-compact-'));
afterAll(() => rmSync(dir, { recursive: true }));
const path = join(dir, 'hub.db');
const notes = [{ name: 'notes' }];
const note = { id: 'n1', accountId: 'a', version: 1 };

it('lets nobody open the file that is about to be replaced', async () => {
  await openSqliteStore(path, notes).close();
  const refused = vi.fn();
  await compactSqliteFile(path, async (from, to) => {
    const open = async () => openSqliteStore(path, notes);
    const store = await open().catch(refused);
    await store?.collection('notes').insert(note);
    await store?.close();
    await rename(from, to);
  });
  expect(refused).toHaveBeenCalledWith(
    expect.objectContaining({ message: expect.stringContaining('Another process has the store file open') }),
  );
  expect(readdirSync(dir)).toEqual(['hub.db']);
  const store = openSqliteStore(path, notes);
  await store.collection('notes').insert(note);
  await store.close();
});

it('leaves what an interrupted run wrote to the next start, which removes it', async () => {
  for (const ending of ['', '-journal']) writeFileSync(`${path}.compact${ending}`, 'a part');
  const store = openSqliteStore(path, notes);
  expect(readdirSync(dir).filter((name) => name.includes('compact'))).toEqual([]);
  expect(await store.collection('notes').get('a', 'n1')).toEqual(note);
  await store.close();
});
