/** Starts a worker of Node's cluster. */

import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';

export function forkWorker(env: object): ChildProcess {
  const worker = cluster.fork(env);
  // It repeats the errors of its process. Without a listener, a process that cannot be created would end this one.
  worker.on('error', () => {});
  return worker.process as ChildProcess;
}
