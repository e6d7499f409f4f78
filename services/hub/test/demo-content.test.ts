import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startDemo } from '../src/demo-content.ts';

it('starts anew if a full disk left an empty record of the demo', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'datahub-demo-'));
  try {
    await writeFile(join(dataDir, 'demo.json'), '');
    const demo = await startDemo({ url: 'http://127.0.0.1:1', key: 'k', dataDir });
    demo.ready.catch(() => {});
    await demo.close();
    await expect(demo.ready).rejects.toThrow('ended during its start');
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});
