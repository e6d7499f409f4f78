/** The life cycle of a process: start, wait for a signal, close in reverse order within a time limit. */

import type { Closable } from '../closers.ts';
import { tuneHeap } from '../heap.ts';
import { describeStartFailure } from '../settings/start-failure.ts';
import type { StopLog } from './stop-log.ts';
import { keepTicksFast } from './ticks.ts';
import { refuseSlowKeyExchange } from './tls-ciphers.ts';

/** A running service. `runProcess` logs its stop in `stopLog`. */
export interface RunningService extends Closable {
  stopLog?: StopLog;
}

/** What a parent sends to a process that it stops itself. */
export const stopMessage = 'datahub stop';

/** Longer than the largest drain time that can be set. */
const graceDefaultMs = 660_000;

/**
 * Runs a service as this process. SIGTERM or SIGINT closes it. A second signal ends the process at once, and so do
 * `graceMs` and a first signal during `start`. A start failure is printed, without its stack if it is no bug.
 */
export async function runProcess(options: {
  /** Calls `serves` if it may serve before its start is complete: a signal then closes that first. */
  start: (serves: (service: RunningService) => void) => Promise<RunningService>;
  graceMs?: number;
  /**
   * True if the parent stops this process by `stopMessage`, in its turn. A terminal and systemd send their signals to all
   * processes of the hub at once.
   */
  stoppedByParent?: boolean;
}): Promise<void> {
  tuneHeap();
  refuseSlowKeyExchange();
  void keepTicksFast();
  // What it prints may go to a full disk.
  process.stderr.on('error', () => {});
  let running: RunningService | undefined;
  let closing = false;
  const stop = async (reason: string) => {
    if (closing) process.exit(1);
    // Nothing has been served yet. An explicit exit is needed because PID 1 ignores signals it has no handler for.
    if (running === undefined) process.exit(0);
    closing = true;
    setTimeout(() => process.exit(1), options.graceMs ?? graceDefaultMs).unref();
    running.stopLog?.begin(reason);
    await running.close();
    running.stopLog?.end();
    process.exit(0);
  };
  const stopBySignal = options.stoppedByParent ? () => {} : stop;
  process.on('SIGTERM', stopBySignal);
  process.on('SIGINT', stopBySignal);
  if (options.stoppedByParent)
    process.on('message', (message) => message === stopMessage && void stop('the supervisor stops'));
  // This process was forked by another, which has ended.
  if (process.channel) {
    process.channel.unref();
    process.once('disconnect', () => stop('the parent process ended'));
  }
  try {
    running = await options.start((service) => {
      running = service;
    });
  } catch (err) {
    if (closing) return;
    process.stderr.write(`${describeStartFailure(err)}\n`);
    process.exitCode = 1;
    process.exit();
  }
}
