/** A server in its own process, with functions that read its CPU time and memory. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

export interface Server {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** Of its other processes. */
  pids: number[];
  /** CPU time of all its processes so far, in microseconds. */
  cpu(): Promise<number>;
  /** Resident memory in MiB. */
  memory(): Promise<number>;
  stop(): Promise<void>;
}

interface Ready {
  url: string;
  headers: Record<string, string>;
  body: string;
}

interface Started extends Ready {
  pids: number[];
}

interface Question {
  id: number;
  what: 'cpu' | 'memory';
}

interface Answer {
  id: number;
  value: number;
}

export async function startServer(path: string, args: string[], nodeArgs: string[] = []): Promise<Server> {
  const child = fork(path, args, {
    execArgv: [...process.execArgv, ...nodeArgs],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const failed = once(child, 'close').then(() => Promise.reject(new Error(`${path} ended at its start.`)));
  const [ready] = (await Promise.race([once(child, 'message'), failed])) as [Started];
  failed.catch(() => {});
  const asked = new Map<number, (value: number) => void>();
  child.on('message', ({ id, value }: Answer) => {
    asked.get(id)?.(value);
    asked.delete(id);
  });
  let lastId = 0;
  const ask = (what: Question['what']): Promise<number> =>
    new Promise((resolve) => {
      lastId++;
      asked.set(lastId, resolve);
      child.send({ id: lastId, what } satisfies Question);
    });
  return { ...ready, cpu: () => ask('cpu'), memory: () => ask('memory'), stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  await ended;
}

/** Runs in the child: reports that it is ready, and the CPU time and memory of itself and its child processes. */
export function serve(ready: Ready, pids: number[] = []): void {
  process.on('message', ({ id, what }: Question) => {
    const { user, system } = process.cpuUsage();
    const value =
      what === 'memory'
        ? pids.reduce((sum, pid) => sum + memoryOf(pid), process.memoryUsage().rss / 1_048_576)
        : pids.reduce((sum, pid) => sum + threadsCpuOf(pid), user + system);
    process.send?.({ id, value } satisfies Answer);
  });
  process.on('SIGTERM', () => process.exit(0));
  process.send?.({ ...ready, pids } satisfies Started);
}

/** In MiB; pages are of 4 KiB. */
export function memoryOf(pid: number): number {
  const [, resident] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ');
  return Number(resident) / 256;
}

/** The CPU time of a process in microseconds, on request with its children that have ended; there are 100 ticks a second. */
export function cpuOf(pid: number, withEnded = false): number {
  const ticks = statOf(pid).slice(11, withEnded ? 15 : 13);
  return ticks.reduce((sum, value) => sum + Number(value), 0) * 10_000;
}

/** The CPU time of a process's threads in microseconds, finer than ticks, from Linux (proc, schedstat). */
export function threadsCpuOf(pid: number): number {
  const nanos = readdirSync(`/proc/${pid}/task`).map((id) =>
    Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanos.reduce((sum, value) => sum + value, 0) / 1_000;
}

/** The fields of /proc/PID/stat after the name; none if the process has ended. */
export function statOf(pid: number): string[] {
  const path = `/proc/${pid}/stat`;
  return existsSync(path) ? (readFileSync(path, 'utf8').split(') ')[1]?.split(' ') ?? []) : [];
}
