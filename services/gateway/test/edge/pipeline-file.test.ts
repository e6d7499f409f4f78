import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { watchText } from '../../src/edge/pipeline-file.ts';

it('takes a text that is whole, and none that is still being written', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'datahub-watch-'));
  const path = join(dir, 'pipeline.yml');
  const taken: string[] = [];
  const onChange = (text: string) => taken.push(text);
  const stop = watchText({ path, text: '', intervalMs: 150, onChange, onUnreadable: () => {} });
  try {
    for (let i = 0; i < 5; i++) {
      writeFileSync(path, 'whole');
      await sleep(70);
      writeFileSync(path, `whole ${i}`);
      await sleep(400);
    }
  } finally {
    stop();
    rmSync(dir, { recursive: true });
  }
  expect(taken).toEqual([0, 1, 2, 3, 4].map((i) => `whole ${i}`));
});
