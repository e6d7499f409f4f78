/** Starts the hub of a tree, or the hand-written program, natively or in an emulator that counts its instructions. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import { argumentsOf, root } from '../support/trees.ts';
import type { Call } from './cases.ts';

const startMs = 600_000;
const messagesMax = 4_000;
const key = `bench-key-${randomBytes(16).toString('hex')}`;

export interface Answer {
  status: number;
  etag?: string;
  text: string;
}

export interface Instructions {
  main: number;
  /** V8's threads for compilation and garbage collection, and libuv's. */
  others: number;
}

export interface Program {
  send(call: Omit<Call, 'status'>): Promise<Answer>;
  /** Instructions in user mode so far; only in the emulator. */
  instructions(): Instructions;
  /** CPU time so far, in microseconds. */
  cpu(): number;
  stop(): Promise<void>;
}

/** Why this machine cannot count instructions; undefined if it can. */
export function whyNotCounting(): string | undefined {
  if (process.arch !== 'x64' || process.platform !== 'linux') return 'it needs Linux on x64';
  for (const [command, hint] of [
    ['qemu-x86_64', 'qemu-user'],
    ['cc', 'gcc'],
  ] as const) {
    try {
      execFileSync(command, ['--version'], { stdio: 'ignore' });
    } catch {
      return `install ${hint} (Debian: ${hint})`;
    }
  }
  return undefined;
}

export async function startHub(tree: string, isCounted: boolean): Promise<Program> {
  const env = {
    DATAHUB_API_KEY: key,
    DATAHUB_DATA_DIR: mkdtempSync(join(tmpdir(), 'datahub-ledger-')),
    DATAHUB_DEMO: '0',
    DATAHUB_METRICS_PORT: '0',
    DATAHUB_REQUEST_TIMEOUT_MS: '600000',
  };
  const port = await freePort();
  const args = await argumentsOf(tree);
  return start({ args, env: { ...env, PORT: String(port) }, port, cwd: tree, isCounted });
}

export async function startByHand(engine: string, url: string, isCounted: boolean): Promise<Program> {
  const port = await freePort();
  const args = [join(root, 'bench/ledger/by-hand.ts'), engine, url, String(port), key];
  return start({ args, env: {}, port, cwd: root, isCounted });
}

interface Start {
  args: string[];
  env: Record<string, string>;
  port: number;
  cwd: string;
  isCounted: boolean;
}

async function start({ args, env, port, cwd, isCounted }: Start): Promise<Program> {
  const counters = join(mkdtempSync(join(tmpdir(), 'datahub-counters-')), 'counters');
  const [command, before] = isCounted
    ? ['qemu-x86_64', ['-plugin', `${plugin()},counters=${counters}`, process.execPath]]
    : [process.execPath, []];
  const child = spawn(command, [...before, ...args], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let messages = '';
  child.stderr?.on('data', (text) => {
    messages = (messages + text).slice(-messagesMax);
  });
  const agent = new Agent({ keepAlive: true });
  const program: Program = {
    send: (call) => send(call, port, agent),
    instructions: () => instructionsIn(counters),
    cpu: () => cpuOf(child.pid as number),
    stop: () => stop(child, agent),
  };
  await untilReady(program, child, () => messages);
  return program;
}

function plugin(): string {
  const dir = join(root, '.cache/ledger');
  mkdirSync(dir, { recursive: true });
  const path = join(dir, 'count.so');
  execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', path, join(root, 'bench/ledger/count.c')]);
  return path;
}

/** Of all threads, from Linux (proc, schedstat). */
function cpuOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const nanos = threads.map((id) =>
    Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanos.reduce((sum, value) => sum + value, 0) / 1_000;
}

const countersBytes = 64;

function instructionsIn(path: string): Instructions {
  const bytes = readFileSync(path);
  let others = 0;
  for (let at = countersBytes; at < bytes.length; at += countersBytes)
    others += Number(bytes.readBigUInt64LE(at));
  return { main: Number(bytes.readBigUInt64LE(0)), others };
}

async function untilReady(program: Program, child: ChildProcess, messages: () => string): Promise<void> {
  const endsAt = performance.now() + startMs;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`A program of the ledger ended at its start: ${messages()}`);
    if (performance.now() > endsAt) throw new Error('A program of the ledger did not start.');
    const answer = await program.send({ method: 'GET', path: '/healthz' }).catch(() => undefined);
    if (answer?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function stop(child: ChildProcess, agent: Agent): Promise<void> {
  agent.destroy();
  const ended = new Promise((resolve) => child.once('close', resolve));
  if (child.exitCode === null) child.kill('SIGKILL');
  await ended;
}

function send(
  { method, path, headers, body }: Omit<Call, 'status'>,
  port: number,
  agent: Agent,
): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const content =
    text === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(text.length) };
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, agent };
    const call = request(
      { ...options, headers: { 'x-service-api-key': key, ...content, ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            ...(response.headers.etag === undefined ? {} : { etag: response.headers.etag }),
            text: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    call.on('error', reject);
    call.end(text);
  });
}
