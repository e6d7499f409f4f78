import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const urlOf = (path: string) => JSON.stringify(new URL(`../../src/workers/${path}.ts`, import.meta.url).href);
const program = fileURLToPath(new URL('worker-program.mjs', import.meta.url));
const silent = '{ error: () => {} }';
const forks = {
  'that emits an error':
    'process.execPath = "/nonexistent"; const forked = forkWorker({}); process.execPath = node; return forked;',
  'that throws': 'throw new Error("spawn ENOMEM");',
};

it.each(Object.entries(forks))(
  'starts a process again after a start %s, because the system could not create it',
  { timeout: 60_000 },
  async (_, failing) => {
    const script = `
      import cluster from 'node:cluster';
      import { keepRunning } from ${urlOf('kept-process')};
      import { forkWorker } from ${urlOf('fork-worker')};
      const node = process.execPath;
      cluster.setupPrimary({ exec: ${JSON.stringify(program)}, args: [], execArgv: [] });
      let count = 0;
      const fork = () => {
        if (++count !== 2) return forkWorker({});
        ${failing}
      };
      let started = 0;
      const onStarted = () => {
        if (++started === 2) {
          console.log('started again by fork ' + count);
          process.exit(0);
        }
        process.kill(kept.pid);
      };
      const kept = keepRunning({ name: 'w', logger: ${silent}, fork, onStarted });`;
    const args = ['--input-type=module', '--eval', script];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toBe('started again by fork 3\n');
  },
);
