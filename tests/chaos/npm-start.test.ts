import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterEach, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const startTimeoutMs = 60_000;
const stopTimeoutMs = 20_000;

/** Polls until `check` holds; throws after `timeoutMs`. */
async function until(
  check: () => boolean | Promise<boolean>,
  timeoutMs: number,
  what: string,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${timeoutMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const isOpen = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });

/** Whether any process of the group is left. A process that was started by npm stays in npm's group. */
function isGroupAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(process.platform === 'win32')('a signal to npm', () => {
  let child: ChildProcess | undefined;
  let dir = '';
  afterEach(async () => {
    if (child?.pid !== undefined && isGroupAlive(child.pid)) process.kill(-child.pid, 'SIGKILL');
    await rm(dir, { recursive: true, force: true });
  });

  it.each([
    ['start', 'Starting the demo database'],
    ['start', 'Try it:'],
    ['start -- --workers 2', 'Try it:'],
    ['start:distributed', 'Press Ctrl-C'],
    ['start:distributed -- --gateways 2 --executors 2', ', http://127.0.0.1:'],
  ])(
    'stops all processes of `npm run %s` that printed "%s", and frees the port',
    async (script, line) => {
      dir = await mkdtemp(join(tmpdir(), 'datahub-npm-'));
      const port = await freePort();
      const env = {
        ...process.env,
        PORT: String(port),
        DATAHUB_METRICS_PORT: '0',
        DATAHUB_DATA_DIR: dir,
        DATAHUB_API_KEY: '',
        DATAHUB_DEMO: '1',
      };
      let output = '';
      const npm = spawn('npm', ['run', ...script.split(' ')], { cwd: root, env, detached: true });
      child = npm;
      for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (chunk) => (output += chunk));
      await until(() => output.includes(line), startTimeoutMs, `${script} prints ${line}`);
      expect(await isOpen(port)).toBe(true);

      const exited = once(npm, 'exit');
      npm.kill('SIGTERM');
      await until(() => !isGroupAlive(npm.pid as number), stopTimeoutMs, 'the processes end');
      await exited;
      expect(await isOpen(port)).toBe(false);
      expect(output).not.toMatch(/^ +at /m);
    },
    startTimeoutMs + stopTimeoutMs,
  );
});
