import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createProcessId, stateOfProcess } from '../../src/process/process-id.ts';

const module = fileURLToPath(new URL('../../src/process/process-id.ts', import.meta.url));
const program = `import { createProcessId } from ${JSON.stringify(module)};
process.stdout.write(createProcessId());
setInterval(() => {}, 1_000);`;
const changed = (id: string, part: number, to: string) => id.split('.').with(part, to).join('.');

test.skipIf(!existsSync('/proc/self/stat'))('tells whether a process of this machine has ended', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
  try {
    const [bytes] = await once(child.stdout, 'data');
    const id = String(bytes);
    expect(stateOfProcess(id)).toBe('running');
    child.kill('SIGSTOP');
    expect(stateOfProcess(id)).toBe('running');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(stateOfProcess(id)).toBe('ended');
  } finally {
    child.kill('SIGKILL');
  }
});

test.skipIf(!existsSync('/proc/self/stat'))('does not take another process for it', () => {
  const id = createProcessId();
  expect(createProcessId()).not.toBe(id);
  expect(stateOfProcess(id)).toBe('running');
  // The pid was given to another process.
  expect(stateOfProcess(changed(id, 4, '1'))).toBe('ended');
  // Another container.
  expect(stateOfProcess(changed(id, 2, '1'))).toBe('unknown');
  // The same machine after a restart, and another machine.
  const restarted = changed(id, 1, 'f');
  expect(stateOfProcess(restarted)).toBe(id.startsWith('.') ? 'unknown' : 'ended');
  expect(stateOfProcess(changed(restarted, 0, 'other'))).toBe('unknown');
});

test('knows nothing of a process that does not name its machine', () => {
  expect(stateOfProcess('e3b0c442-98fc-1c14-9afb-f4c8996fb924')).toBe('unknown');
});
