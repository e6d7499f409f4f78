/** A bash in which a test runs commands one after the other. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface ShellOptions {
  cwd: string;
  env: Record<string, string | undefined>;
  /** Commands to run first. */
  prepare: string;
}

export interface Shell {
  /** Runs a command and resolves to its output. Rejects if it fails or takes too long. */
  type(command: string): Promise<string>;
  close(): Promise<void>;
}

const commandTimeoutMs = 50_000;
const mark = 'end-of-the-command';

export async function openShell({ cwd, env, prepare }: ShellOptions): Promise<Shell> {
  const bash = spawn('bash', ['--noprofile', '--norc'], { cwd, env });
  let output = '';
  let problems = '';
  let heard = () => {};
  bash.stdout.on('data', (chunk) => {
    output += chunk;
    heard();
  });
  bash.stderr.on('data', (chunk) => {
    problems += chunk;
  });
  const type = async (command: string) => {
    output = '';
    problems = '';
    const deadline = Date.now() + commandTimeoutMs;
    bash.stdin.write(`${command}\nprintf '\\n${mark} %s\\n' $?\n`);
    for (;;) {
      const [, printed, code] = new RegExp(`^(.*)\\n${mark} (\\d+)\\n`, 's').exec(output) ?? [];
      if (code === '0') return printed ?? '';
      if (code !== undefined) throw new Error(`"${command}" failed with ${code}: ${printed}${problems}`);
      const leftMs = deadline - Date.now();
      if (leftMs <= 0) throw new Error(`"${command}" does not end: ${output}${problems}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        heard = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };
  await type(prepare);
  return {
    type,
    close: async () => {
      const closed = once(bash, 'exit');
      bash.stdin.end();
      await closed;
    },
  };
}
