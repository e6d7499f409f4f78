/** Child processes: run one to its end, or keep one as a server until it is stopped. */

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

/** Runs a command to its end and gives what it printed; throws with the end of its output when it fails. */
export async function run(command: string, args: string[], options: RunOptions = {}): Promise<string> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk));
  const [code] = await once(child, 'close');
  const text = Buffer.concat(output).toString();
  if (code !== 0) throw new Error(`${command} ended with ${code}:\n${text.slice(-2_000)}`);
  return text;
}

/** Where servers are installed; an ordinary user's PATH leaves these out. */
const serverDirs = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

/** The path of a command that is installed here; undefined when it is not. */
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

/** Starts a server and resolves once its port takes connections; what it prints is shown only if it never does. */
export async function startServer(options: {
  command: string;
  args: string[];
  port: number;
  timeoutMs: number;
  env?: NodeJS.ProcessEnv;
  /** What makes it end at once, its clients or not: SIGINT where nothing is said. MariaDB ignores that one. */
  stopSignal?: NodeJS.Signals;
  /** Of the process that runs it, where it must not be root. */
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
  // A program that cannot be started at all ends with a negative exit code, and says why here.
  child.on('error', (err) => keep(err.message));
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const failure = await untilListening(child, options.port, options.timeoutMs);
  const end = () => stop(child, options.stopSignal ?? 'SIGINT');
  if (failure === undefined) return { stop: end };
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
