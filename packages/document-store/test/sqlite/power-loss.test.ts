import { fstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect, it } from 'vitest';
import type { Doc, DocumentStore } from '../../src/index.ts';
import { openSqliteStore } from '../../src/sqlite/store.ts';
import type { Sync } from '../../src/sqlite/wal.ts';

const dir = mkdtempSync(join(tmpdir(), 'document-store-power-'));
afterAll(() => rmSync(dir, { recursive: true }));

interface Entry extends Doc {
  text: string;
}
const specs = [{ name: 'entries' }];
const accountId = 'a';
const ids = Array.from({ length: 24 }, (_, i) => `entry${i}`);
const sectorBytes = 512;
/** Unless something is lost before. The log is moved into the file after 4 MB, so several times. */
const bytesWritten = 16_000_000;

/**
 * A disk that keeps for certain what a file held when its last sync began, and of what was written since any sector,
 * or none, and the older size or the newer. `atSync` is called while a sync is under way.
 */
function createDisk(path: string, forgets: (file: string) => boolean, atSync: () => Promise<void>) {
  const files = [path, `${path}-wal`];
  const certain = new Map<string, Buffer>();
  const sync: Sync = async (fd) => {
    const file = files.find((name) => statSync(name).ino === fstatSync(fd).ino) ?? '';
    const synced = readFileSync(file);
    await atSync();
    if (!forgets(file)) certain.set(file, synced);
  };
  return {
    sync,
    opened() {
      for (const file of files) certain.set(file, readFileSync(file));
    },
    /** The files as they are found after the power went now. */
    leave(copy: string) {
      for (const file of files) {
        writeFileSync(file.replace(path, copy), mix(certain.get(file) as Buffer, readFileSync(file)));
      }
    },
  };
}

/** All of the older, all of the newer, any sectors of both, or the older up to a sector and the newer from there. */
function mix(older: Buffer, newer: Buffer): Buffer {
  const share = [0, 0.1, 0.5, 0.9, 1][Math.floor(Math.random() * 5)] as number;
  const newFrom = Math.random() < 0.3 ? Math.random() * 500_000 : undefined;
  const mixed = Buffer.alloc((Math.random() < share ? newer : older).length);
  for (let at = 0; at < mixed.length; at += sectorBytes) {
    const isNew = newFrom === undefined ? Math.random() < share : at >= newFrom;
    const from = (isNew && at < newer.length) || at >= older.length ? newer : older;
    from.copy(mixed, at, at, at + sectorBytes);
  }
  return mixed;
}

/** What is lost or damaged after the power went, at every sync while three writers replace documents. */
async function faults(name: string, forgets: (file: string) => boolean): Promise<string[]> {
  mkdirSync(join(dir, name));
  const path = join(dir, name, 'hub.db');
  const acknowledged = new Map<string, number>();
  const found: string[] = [];
  const disk = createDisk(path, forgets, async () => {
    for (let i = 0; i < 3; i++) {
      const copy = join(dir, name, 'after.db');
      disk.leave(copy);
      found.push(...(await check(copy, acknowledged)));
    }
  });
  const store = openSqliteStore(path, specs, { sync: disk.sync });
  disk.opened();
  const entries = store.collection<Entry>('entries');
  let written = 0;
  const write = async (mine: string[]) => {
    for (let version = 1; written < bytesWritten && found.length === 0; version++) {
      for (const id of mine) {
        const text = String.fromCharCode(97 + (version % 26)).repeat(20_000 + Math.random() * 100_000);
        written += text.length;
        const doc = { id, accountId, version, text };
        await (version === 1 ? entries.insert(doc) : entries.replace(doc));
        acknowledged.set(id, version);
      }
    }
  };
  await Promise.all([0, 1, 2].map((writer) => write(ids.filter((_, i) => i % 3 === writer))));
  await store.close();
  return found;
}

async function check(path: string, acknowledged: Map<string, number>): Promise<string[]> {
  if (!isWhole(path)) return ['damaged'];
  const store = openSqliteStore(path, specs);
  const found: string[] = [];
  for (const [id, version] of acknowledged) {
    const kept = await versionOf(store, id);
    if (kept < version) found.push(`${id}: ${kept} where ${version} was acknowledged`);
  }
  await store.close();
  return found;
}

/** Of an entry that can be read; 0 where it is gone, or its text is. */
async function versionOf(store: DocumentStore, id: string): Promise<number> {
  try {
    return (await store.collection<Entry>('entries').get(accountId, id))?.version ?? 0;
  } catch {
    return 0;
  }
}

function isWhole(path: string): boolean {
  const db = new DatabaseSync(path);
  try {
    return db.prepare('PRAGMA integrity_check').get()?.integrity_check === 'ok';
  } catch {
    return false;
  } finally {
    db.close();
  }
}

it('keeps everything acknowledged and nothing half, whenever the power goes', async () => {
  expect(await faults('honest', () => false)).toEqual([]);
});

it.each([
  ['its log', (file: string) => file.endsWith('-wal')],
  ['its file', (file: string) => file.endsWith('.db')],
])('would lose some of it, were %s not synced', async (name, forgets) => {
  expect(await faults(name, forgets)).not.toEqual([]);
});
