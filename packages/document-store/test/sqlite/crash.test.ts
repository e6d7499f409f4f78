import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import type { Collection } from '../../src/index.ts';
import { openSqliteStore } from '../../src/sqlite/store.ts';
import type { Entry } from './crash-writer.ts';
import { crashSpecs } from './crash-writer.ts';

const dir = mkdtempSync(join(tmpdir(), 'document-store-crash-'));
afterAll(() => rmSync(dir, { recursive: true }));

const rounds = 5;

/** Starts the writer, kills it (SIGKILL) some time after its first acknowledgement, and returns what it printed. */
async function killedWriter(path: string, round: number): Promise<string[]> {
  const script = join(import.meta.dirname, 'crash-writer.ts');
  const child = spawn(process.execPath, [script, path, String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<string | null>((resolve) =>
    child.once('close', (_code, signal) => resolve(signal)),
  );
  let printed = '';
  const started = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text;
      resolve();
    });
  });
  await Promise.race([started, ended]);
  await sleep(Math.random() * 250);
  child.kill('SIGKILL');
  expect(await ended).toBe('SIGKILL');
  // A line without its end was cut by the kill; its write was acknowledged all the same, or not: nothing is known.
  return printed.split('\n').slice(0, -1);
}

async function checkAcknowledged(entries: Collection<Entry>, lines: string[]): Promise<void> {
  const deleted = new Set(
    lines.filter((line) => line.startsWith('deleted')).map((line) => line.split(' ')[2]),
  );
  for (const line of lines) {
    const [what, accountId = '', pair = ''] = line.split(' ');
    const first = await entries.get(accountId, `${pair}a`);
    expect(first, line).not.toBeNull();
    if (what === 'replaced') expect(first, line).toMatchObject({ version: 2, text: 'replaced' });
    if (what === 'counted') expect(first?.hits, line).toBe(3);
    if (deleted.has(pair)) expect(await entries.get(accountId, `${pair}b`), line).toBeNull();
  }
}

/** Both of a pair or none, unless the second was deleted; and every index agrees with the documents. */
async function checkWhole(entries: Collection<Entry>): Promise<number> {
  const docs = await entries.scan({ limit: 1_000_000 });
  const ids = new Set(docs.map((doc) => doc.id));
  for (const { id, pair, version, text, hits = 0 } of docs) {
    expect(ids.has(`${pair}a`), id).toBe(true);
    expect(text).toBe(version === 2 ? 'replaced' : `${pair} `.repeat(20));
    expect([0, 3]).toContain(hits);
    // The writer goes on to the later steps of a pair only after the pair was acknowledged.
    const untouched = id.endsWith('a') && version === 1;
    if (untouched) expect(ids.has(`${pair}b`), id).toBe(true);
  }
  return docs.length;
}

it('keeps everything acknowledged and nothing half, whenever the process is killed', {
  timeout: 60_000,
}, async () => {
  const path = join(dir, 'hub.db');
  const acknowledged: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    acknowledged.push(...(await killedWriter(path, round)));
    const startMs = performance.now();
    const store = openSqliteStore(path, crashSpecs);
    expect(performance.now() - startMs, 'ready again').toBeLessThan(2_000);
    const entries = store.collection<Entry>('entries');
    await checkAcknowledged(entries, acknowledged);
    expect(await checkWhole(entries)).toBeGreaterThan(0);
    await store.close();
  }
  expect(acknowledged.length).toBeGreaterThan(rounds * 100);
  const db = new DatabaseSync(path);
  expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  db.close();
});
