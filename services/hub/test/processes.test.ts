import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { serviceToken } from '../src/processes.ts';

const urlOf = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);

/** As a terminal does, which signals all processes in the foreground. */
it('lets a program finish its work after Ctrl-C', { timeout: 60_000 }, async () => {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-interrupt-'));
  try {
    const [program, parent, closed] = ['program.mjs', 'parent.mjs', 'closed'].map((name) => join(dir, name));
    await writeFile(
      program as string,
      `import { writeFileSync } from 'node:fs';
       import { runProcess } from ${urlOf('../../../packages/service-kit/src/process/lifecycle.ts')};
       setInterval(() => {}, 1_000);
       const close = async () => {
         await new Promise((resolve) => setTimeout(resolve, 500));
         writeFileSync(${JSON.stringify(closed)}, 'yes');
       };
       await runProcess({ start: async () => ({ close }) });
       process.send('ready');`,
    );
    await writeFile(
      parent as string,
      `import { startProgram, stopProcess } from ${urlOf('../src/processes.ts')};
       const child = startProgram(${JSON.stringify(program)}, process.env);
       child.once('message', () => process.stdout.write('ready'));
       process.once('SIGINT', async () => {
         await stopProcess(child, { signal: 'SIGTERM', graceMs: 30_000 });
         process.exit(0);
       });`,
    );
    const started = spawn(process.execPath, [parent as string], {
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    await once(started.stdout, 'data');
    process.kill(-(started.pid as number), 'SIGINT');
    await once(started, 'exit');
    expect(await readFile(closed as string, 'utf8')).toBe('yes');
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

it('replaces a token of which a full disk left nothing', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-token-'));
  try {
    await writeFile(join(dir, 'service-token'), '');
    const token = await serviceToken(dir);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(await serviceToken(dir)).toBe(token);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
