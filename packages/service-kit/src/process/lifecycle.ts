/** The life of a process: start, wait for a signal, close in reverse order, within a bound. */

import { tuneHeap } from './heap.ts';
import { describeStartFailure } from './start-failure.ts';
import type { StopLog } from './stop-log.ts';

export interface Closable {
  close(): Promise<void> | void;
}

/** A service that was started; who runs it tells its log that it stops. */
export interface RunningService extends Closable {
  stopLog?: StopLog;
}

/** Collects what was opened; `close` closes the newest first, each once, and goes on past a failing one. */
export function createClosers(): Closable & { add(closable: Closable): void } {
  const opened: Closable[] = [];
  return {
    add: (closable) => {
      opened.push(closable);
    },
    close: async () => {
      const failures: unknown[] = [];
      for (let next = opened.pop(); next; next = opened.pop()) {
        try {
          await next.close();
        } catch (err) {
          failures.push(err);
        }
      }
      if (failures.length > 0) throw new AggregateError(failures, 'Closing failed.');
    },
  };
}

/** Longer than any setting lets a service drain. */
const graceDefaultMs = 660_000;

/**
 * Runs a service as this process: `start` opens it; SIGTERM or SIGINT closes it; a second signal, or `graceMs` gone by,
 * ends the process at once, as the first does while it starts. What keeps it from starting is printed, without a stack
 * where the program is not at fault.
 */
export async function runProcess(options: {
  start: () => Promise<RunningService>;
  graceMs?: number;
}): Promise<void> {
  tuneHeap();
  let running: RunningService | undefined;
  let closing = false;
  const stop = async (reason: string) => {
    if (closing) process.exit(1);
    // Nothing has been promised to anybody yet. The first process of a container ends by no signal that it does not heed.
    if (running === undefined) process.exit(0);
    closing = true;
    setTimeout(() => process.exit(1), options.graceMs ?? graceDefaultMs).unref();
    running.stopLog?.begin(reason);
    await running.close();
    running.stopLog?.end();
    process.exit(0);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  // Whoever started this process as a part of something larger has gone.
  if (process.channel) {
    process.channel.unref();
    process.once('disconnect', () => stop('the process that started this one has gone'));
  }
  try {
    running = await options.start();
  } catch (err) {
    process.stderr.write(`${describeStartFailure(err)}\n`);
    process.exitCode = 1;
    process.exit();
  }
}
