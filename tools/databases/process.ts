/** Runs commands to completion, and servers until they are stopped. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, statSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';

export interface RunOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  uid?: number;
  gid?: number;
}

/** Runs a command and returns its output. Throws with the end of the output if it fails. */
export async function run(command: string, args: string[], options: RunOptions = {}): Promise<string> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk));
  const [code] = await once(child, 'close');
  const text = Buffer.concat(output).toString();
  if (code !== 0) throw new Error(`${command} ended with ${code}:\n${text.slice(-2_000)}`);
  return text;
}

/** Directories with servers that are not in an ordinary user's PATH. */
const serverDirs = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

/** The path of an installed command, else undefined. */
export function findCommand(name: string): string | undefined {
  const dirs = [...(process.env.PATH ?? '').split(delimiter), ...serverDirs].filter((dir) => dir !== '');
  return dirs.map((dir) => join(dir, name)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

export interface Server {
  stop(): Promise<void>;
}

/**
 * Starts a server and resolves when its port accepts connections. The end of its output is shown only if the start
 * fails, or if the server ends without being stopped.
 */
export async function startServer(options: {
  command: string;
  args: string[];
  port: number;
  timeoutMs: number;
  env?: NodeJS.ProcessEnv;
  /** The signal that stops it immediately, even with clients connected; SIGINT by default, which MariaDB ignores. */
  stopSignal?: NodeJS.Signals;
  /** The user of the process, if it must not run as root. */
  user?: { uid: number; gid: number };
}): Promise<Server> {
  const child = spawn(options.command, options.args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    ...(options.env === undefined ? {} : { env: options.env }),
    ...options.user,
  });
  let output = '';
  const keep = (chunk: Buffer | string) => {
    output = (output + chunk.toString()).slice(-4_000);
  };
  // A program that cannot be started has a negative exit code and an error here.
  child.on('error', (err) => keep(err.message));
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const failure = await untilListening(child, options.port, options.timeoutMs);
  const reportEnd = (code: number | null, signal: string | null) =>
    process.stderr.write(`${options.command} ended by itself with ${code ?? signal}:\n${output}\n`);
  const end = () => {
    child.off('close', reportEnd);
    return stop(child, options.stopSignal ?? 'SIGINT');
  };
  if (failure === undefined) {
    child.on('close', reportEnd);
    return { stop: end };
  }
  await end();
  throw new Error(`${options.command} ${failure}:\n${output}`);
}

async function untilListening(
  child: ChildProcess,
  port: number,
  timeoutMs: number,
): Promise<string | undefined> {
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) return `ended with ${child.exitCode}`;
    if (await takesConnections(port)) return undefined;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return `did not listen on port ${port} within ${timeoutMs} ms`;
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => done(true)).once('error', () => done(false));
  });
}

const stopGraceMs = 5_000;

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.kill(signal);
  const cut = setTimeout(() => child.kill('SIGKILL'), stopGraceMs);
  await ended;
  clearTimeout(cut);
}
