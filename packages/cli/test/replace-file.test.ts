import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { replaceFile } from '../src/replace-file.ts';

let dir: string;
let file: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'datahub-replace-'));
  file = join(dir, 'one.sql');
  await writeFile(file, 'before');
  await chmod(file, 0o640);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

it('replaces a file, and keeps who may read it', async () => {
  await replaceFile(file, 'after');
  expect([await readFile(file, 'utf8'), (await stat(file)).mode & 0o777]).toEqual(['after', 0o640]);
  expect(await readdir(dir)).toEqual(['one.sql']);
});

it('leaves a file as it was if there is no room for the new text', async () => {
  const module = fileURLToPath(new URL('../src/replace-file.ts', import.meta.url));
  const code = `import(${JSON.stringify(module)}).then(({ replaceFile }) => replaceFile(${JSON.stringify(file)}, 'x'.repeat(100_000)))`;
  // A file that is longer than a block ends the program, as a kill does.
  const run = promisify(execFile)('sh', ['-c', 'ulimit -f 1; exec "$0" -e "$1"', process.execPath, code]);
  await expect(run).rejects.toThrow();
  expect(await readFile(file, 'utf8')).toBe('before');
});
