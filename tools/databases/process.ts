/** Child processes: run one to its end, or keep one as a server until it is stopped. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

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

export function isOnPath(command: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' }).status === 0;
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
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-4_000);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const failure = await untilListening(child, options.port, options.timeoutMs);
  if (failure === undefined) return { stop: () => stop(child) };
  await stop(child);
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

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.kill('SIGINT');
  const cut = setTimeout(() => child.kill('SIGKILL'), stopGraceMs);
  await ended;
  clearTimeout(cut);
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
