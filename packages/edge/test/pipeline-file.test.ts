import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { watchText } from '../src/pipeline-file.ts';

const intervalMs = 150;

let dir: string;
let taken: string[];
let unreadable: number;
let write: (text: string) => void;
let stop: () => void;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  dir = mkdtempSync(join(tmpdir(), 'datahub-watch-'));
  const path = join(dir, 'pipeline.yml');
  taken = [];
  unreadable = 0;
  write = (text) => writeFileSync(path, text);
  const onChange = (text: string) => void taken.push(text);
  stop = watchText({ path, text: '', intervalMs, onChange, onUnreadable: () => unreadable++ });
});
afterEach(() => {
  stop();
  rmSync(dir, { recursive: true });
  vi.useRealTimers();
});

/** Lets time pass, and waits for the end of the read that began in it. */
async function pass(ms = intervalMs): Promise<void> {
  vi.advanceTimersByTime(ms);
  while (vi.getTimerCount() === 0) await nextTurn();
}

it('takes a text that is whole, and none that is still being written', async () => {
  for (let i = 0; i < 3; i++) {
    write('whole');
    await pass();
    write(`whole ${i}`);
    await pass();
    await pass();
  }
  expect(taken).toEqual(['whole 0', 'whole 1', 'whole 2']);
});

it('takes no text that it read twice without an interval between, on a machine that delays it', async () => {
  write('whole');
  await pass(10 * intervalMs);
  write('whole and more');
  await pass();
  expect(taken).toEqual([]);
  await pass();
  expect(taken).toEqual(['whole and more']);
});

it('reports once that the file cannot be read', async () => {
  await pass();
  await pass();
  expect(unreadable).toBe(1);
  write('whole');
  await pass();
  await pass();
  expect(taken).toEqual(['whole']);
});
