import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDirectory } from '../../src/process/create-directory.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'datahub-directory-'));
});
afterAll(() => rm(dir, { recursive: true }));

it('creates a directory with those above it, for the owner only, and leaves one that exists', async () => {
  const path = join(dir, 'a', 'b', 'c');
  createDirectory(path);
  await writeFile(join(path, 'file'), '');
  createDirectory(path);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
  expect((await stat(join(path, 'file'))).isFile()).toBe(true);
  expect(() => createDirectory(join(path, 'file', 'd'))).toThrow('ENOTDIR');
});

it('ends where the system creates none', () => {
  const source = `import { createDirectory } from '${new URL('../../src/process/create-directory.ts', import.meta.url).href}';
    createDirectory('/proc/datahub/data');`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', source], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect(status).toBe(1);
  expect(stderr).toContain('ENOENT');
});
