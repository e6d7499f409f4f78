import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
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

it('imports no file that is not UTF-8', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'utf8-'));
  await mkdir(join(dir, 'from'));
  await writeFile(join(dir, 'from/hand.sql'), Buffer.from("SELECT 'M\u00fcnchen'", 'latin1'));
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const words = ['import', join(dir, 'from'), join(dir, 'to')];
  const code = await runCommandLine(words, { stdin, stdout, stderr, env: {} });
  for (const stream of [stdout, stderr]) stream.end();
  expect([code, await text(stderr)]).toEqual([
    1,
    expect.stringContaining('hand.sql:1: The text is not UTF-8'),
  ]);
  await rm(dir, { recursive: true });
});
