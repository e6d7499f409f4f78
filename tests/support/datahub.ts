/** Runs the command `datahub` of the packed package, as a user does. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from '../../packages/cli/bundle.ts';
import { inherited } from './inherited.ts';

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Given {
  env?: Record<string, string>;
  stdin?: string;
  program?: string;
  /** Called with the process. */
  onStart?: (child: ChildProcess) => void;
}

export interface Datahub {
  /** The working directory of the commands. */
  dir: string;
  packed: string;
  run(args: string[], given?: Given): Promise<Ran>;
  /** Resolves with the output of a command that must succeed. */
  ok(args: string[], given?: Given): Promise<string>;
  close(): Promise<void>;
}

export async function createDatahub(hubEnv: Record<string, string>): Promise<Datahub> {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-cli-'));
  const packed = join(dir, 'datahub.mjs');
  await writeFile(packed, await bundle());
  const children: ChildProcess[] = [];
  const run: Datahub['run'] = (args, { env = hubEnv, stdin = '', program = packed, onStart } = {}) => {
    const child = spawn(process.execPath, [program, ...args], {
      cwd: dir,
      env: { ...inherited, HOME: dir, DATAHUB_DATA_DIR: join(dir, 'data'), ...env },
    });
    children.push(child);
    onStart?.(child);
    return new Promise((resolve, reject) => {
      const ran: Ran = { code: null, stdout: '', stderr: '' };
      for (const name of ['stdout', 'stderr'] as const)
        child[name].setEncoding('utf8').on('data', (text) => {
          ran[name] += text;
        });
      child.on('error', reject);
      child.on('close', (code) => resolve({ ...ran, code }));
      // A process that was killed reads nothing.
      child.stdin.on('error', () => {});
      child.stdin.end(stdin);
    });
  };
  return {
    dir,
    packed,
    run,
    ok: async (args, given) => {
      const { code, stdout, stderr } = await run(args, given);
      if (code !== 0) throw new Error(`datahub ${args.join(' ')}: ${code}\n${stdout}\n${stderr}`);
      return stdout;
    },
    close: async () => {
      for (const child of children) child.kill();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
