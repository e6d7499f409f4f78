/** A bash in which a test runs commands one after the other. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';

export interface ShellOptions {
  cwd: string;
  env: Record<string, string | undefined>;
  /** Commands to run first. */
  prepare: string;
}

export interface Shell {
  /**
   * Runs a command and resolves to its output. Rejects if it fails or takes too long. After one that takes too long the
   * shell is closed, and all others reject at once.
   */
  type(command: string): Promise<string>;
  close(): Promise<void>;
}

const commandTimeoutMs = 150_000;
const mark = 'end-of-the-command';

/**
 * The commands come over descriptor 3, which no command inherits: programs make their standard input non-blocking, and
 * a shell that shares it could not read its next command.
 */
const loop = `while IFS= read -r -d '' -u 3 command; do eval "$command" 3<&-; printf '\\n${mark} %s\\n' $?; done`;

export async function openShell({ cwd, env, prepare }: ShellOptions): Promise<Shell> {
  // A session of its own, by which the programs that it started are found and ended.
  const bash = spawn('bash', ['--noprofile', '--norc', '-c', loop], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const commands = bash.stdio[3] as Writable;
  const ended = once(bash, 'exit');
  let output = '';
  let problems = '';
  let broken = '';
  let heard = () => {};
  bash.stdout?.on('data', (chunk) => {
    output += chunk;
    heard();
  });
  bash.stderr?.on('data', (chunk) => {
    problems += chunk;
  });
  bash.on('exit', (code, signal) => {
    broken ||= `it ended with ${code ?? signal}`;
    heard();
  });
  // A write to a shell that ended is reported by the next command.
  commands.on('error', () => {});
  const type = async (command: string) => {
    output = '';
    problems = '';
    const deadline = Date.now() + commandTimeoutMs;
    if (broken === '') commands.write(`${command}\0`);
    for (;;) {
      const [, printed, code] = new RegExp(`^(.*)\\n${mark} (\\d+)\\n`, 's').exec(output) ?? [];
      if (code === '0') return printed ?? '';
      if (code !== undefined) throw new Error(`"${command}" failed with ${code}: ${printed}${problems}`);
      if (broken !== '') throw new Error(`"${command}" has no shell: ${broken}`);
      const leftMs = deadline - Date.now();
      if (leftMs <= 0) {
        broken = `"${command}" does not end: ${output}${problems}`;
        await endSession(bash.pid);
        throw new Error(broken);
      }
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
      commands.end();
      await ended;
      await endSession(bash.pid);
    },
  };
}

/** Ends all processes of a session. There may be none left. */
async function endSession(pid: number | undefined): Promise<void> {
  await once(execFile('pkill', ['-KILL', '-s', String(pid)]), 'exit');
}
