import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { readAll } from '../src/read-input.ts';
import { decodeUtf8 } from '../src/read-utf8.ts';
import { runCommandLine } from '../src/run-command.ts';

it('keeps UTF-8, and names the line of what is not', async () => {
  expect(decodeUtf8(Buffer.from('\ufeffé\n語🙂'), 'f')).toBe('\ufeffé\n語🙂');
  expect(() => decodeUtf8(Buffer.from('é\nM\u00fcnchen\n', 'latin1'), 'f')).toThrow('f:1: The text is not');
  expect(() => decodeUtf8(Buffer.from('a\nM\u00fcnchen\n', 'latin1'), 'f')).toThrow('f:2: The text is not');
  expect(() => decodeUtf8(Buffer.from('\ufeffSELECT 1', 'utf16le'), 'f')).toThrow('f:1: The text is not');
  const stdin = new PassThrough();
  stdin.end(Buffer.from('{"b":"\u00fc"}', 'latin1'));
  await expect(readAll(stdin)).rejects.toThrow('standard input:1: The text is not UTF-8.');
});

it('imports no file that is not UTF-8, and the others', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'utf8-'));
  await mkdir(join(dir, 'from'));
  for (const name of ['a', 'c'])
    await writeFile(join(dir, `from/${name}.sql`), Buffer.from("SELECT\n'M\u00fcnchen'", 'latin1'));
  await writeFile(join(dir, 'from/b.sql'), "SELECT 'M\u00fcnchen'");
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const words = ['import', join(dir, 'from'), join(dir, 'to')];
  const code = await runCommandLine(words, { stdin, stdout, stderr, env: {} });
  for (const stream of [stdout, stderr]) stream.end();
  const told = await text(stdout);
  expect(code).toBe(1);
  for (const name of ['a', 'c']) expect(told).toContain(`${name}.sql:2:1: The text is not UTF-8`);
  expect(told).toContain('1 query written, 2 not converted.');
  expect(await readFile(join(dir, 'to/queries/b.sql'), 'utf8')).toContain('M\u00fcnchen');
  await rm(dir, { recursive: true });
});
