/**
 * Node's cluster forgets a connection that it has handed to a worker. If the worker ends before it has taken it, nobody
 * closes the connection, and its client would wait without an end.
 */

import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';

/** Of Node's cluster: `newconn` hands a connection over, and the worker repeats its number in `ack`. */
interface ClusterMessage {
  act?: string;
  seq?: number;
  ack?: number;
}

interface Connection {
  close(): void;
}

/** Starts a worker of Node's cluster. */
export function forkWorker(env: object): ChildProcess {
  const worker = cluster.fork(env);
  // It repeats the errors of its process. Without a listener, a process that cannot be created would end this one.
  worker.on('error', () => {});
  return closeUntaken(worker.process as ChildProcess);
}

/** Closes the connections that the worker has not taken when it ends. No request of them was read. */
function closeUntaken(worker: ChildProcess): ChildProcess {
  const untaken = new Map<number, Connection>();
  const send = worker.send.bind(worker) as (...message: unknown[]) => boolean;
  worker.send = (...message: unknown[]) => {
    const [{ act, seq }, connection] = message as [ClusterMessage, Connection | undefined];
    if (act === 'newconn' && seq !== undefined && connection !== undefined) untaken.set(seq, connection);
    return send(...message);
  };
  worker.on('internalMessage', ({ ack }: ClusterMessage) => void (ack !== undefined && untaken.delete(ack)));
  worker.once('exit', () => {
    for (const connection of untaken.values()) connection.close();
    untaken.clear();
  });
  return worker;
}
