import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const programs = ['packages/cli/src/main.ts', 'services/hub/src/cli.ts'];

describe.each(programs)('the output of %s', (program) => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'output-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  /** In a file of at most two kilobytes: what is written beyond them fails, and a write that begins before them is cut. */
  const run = (line: string) =>
    new Promise<{ code: unknown; stderr: string }>((resolve) => {
      const script = `trap '' XFSZ; ulimit -f 2; ${line}`;
      const env = { ...process.env, NODE: process.execPath, PROGRAM: program, OUT: join(directory, 'out') };
      execFile('bash', ['-c', script], { env }, (err, _stdout, stderr) =>
        resolve({ code: err?.code ?? 0, stderr }),
      );
    });

  it('fails the command if a file has no room for all of it', async () => {
    const { code, stderr } = await run('"$NODE" "$PROGRAM" completion bash > "$OUT"');
    expect((await readFile(join(directory, 'out'))).length).toBe(2_048);
    expect(stderr).toContain('The output could not be written: EFBIG');
    expect(code).toBe(1);
  });

  it('fails the command if a device is full', async () => {
    const { code, stderr } = await run('"$NODE" "$PROGRAM" --help > /dev/full');
    expect(stderr).toContain('The output could not be written: ENOSPC');
    expect(code).toBe(1);
  });

  it('is complete in a file that has room, and may have a reader that ends', async () => {
    expect((await run('"$NODE" "$PROGRAM" whoami --help > "$OUT"')).code).toBe(0);
    expect(await readFile(join(directory, 'out'), 'utf8')).toContain('datahub whoami');
    const { code, stderr } = await run(
      'set -o pipefail; "$NODE" "$PROGRAM" completion bash | head -c 1 > /dev/null',
    );
    expect([code, stderr]).toEqual([0, '']);
  });
});
