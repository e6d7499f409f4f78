import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const lifecycle = new URL('../../src/process/lifecycle.ts', import.meta.url).href;

/** The output of a program that gets a signal during its start. */
const signalled = async (start: string): Promise<string> => {
  const script = `
    import { runProcess } from ${JSON.stringify(lifecycle)};
    await runProcess({ start: async (serves) => {
      ${start}
      setTimeout(() => process.kill(process.pid, 'SIGTERM'), 10);
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    } });`;
  return (await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])).stdout;
};

it('ends at a signal during its start, and first closes what serves already', async () => {
  const serves = `serves({ close: async () => console.log('closed') });`;
  expect(await Promise.all([signalled(''), signalled(serves)])).toEqual(['', 'closed\n']);
});
