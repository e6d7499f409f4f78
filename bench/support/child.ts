/** A server in a process of its own, whose CPU time and memory can be asked for. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

export interface Server {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** CPU of all of its processes so far, in microseconds. */
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

export async function startServer(path: string, args: string[], nodeArgs: string[] = []): Promise<Server> {
  const child = fork(path, args, {
    execArgv: [...process.execArgv, ...nodeArgs],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const failed = once(child, 'close').then(() => Promise.reject(new Error(`${path} ended at its start.`)));
  const [ready] = (await Promise.race([once(child, 'message'), failed])) as [Ready];
  failed.catch(() => {});
  const ask = async (what: string): Promise<number> => {
    child.send(what);
    const [answer] = (await once(child, 'message')) as [number];
    return answer;
  };
  return { ...ready, cpu: () => ask('cpu'), memory: () => ask('memory'), stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  await ended;
}

/** The child's side: says that it is ready, and answers what it is asked. */
export function serve(ready: Ready, others: () => Promise<number> = async () => 0): void {
  process.on('message', async (what) => {
    if (what === 'memory') return process.send?.(process.memoryUsage().rss / 1_048_576);
    const { user, system } = process.cpuUsage();
    return process.send?.(user + system + (await others()));
  });
  process.on('SIGTERM', () => process.exit(0));
  process.send?.(ready);
}
