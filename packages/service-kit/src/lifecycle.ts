/** The life of a process: start, wait for a signal, close in reverse order, within a bound. */

import { HubError } from './error.ts';
import { tuneHeap } from './heap.ts';
import { SettingsError } from './settings.ts';

export interface Closable {
  close(): Promise<void> | void;
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

/** What keeps a process from starting, in words that say what to do. */
export function whyNotStarted(err: unknown): string {
  if (err instanceof SettingsError) return err.message;
  if (!(err instanceof Error)) return String(err);
  if (err.message.includes('EADDRINUSE')) {
    const at = /(\S+:\d+)\]?$/.exec(err.message)?.[1]?.replace(/\]$/, '');
    return `The port ${at} is taken by another program. End that one, or choose another port: PORT is the hub's own, DATAHUB_METRICS_PORT that of its figures; docs/configuration.md has them all.`;
  }
  if (err instanceof HubError && err.code !== 'INTERNAL') {
    const because = err.cause instanceof Error ? ` (${err.cause.message})` : '';
    return `It cannot start. ${err.message}${because}`;
  }
  // A file or an address that the system refuses: its own words name it.
  if (typeof (err as NodeJS.ErrnoException).syscall === 'string') return `It cannot start. ${err.message}`;
  return err.stack ?? err.message;
}

/**
 * Runs a service as this process: `start` opens it; SIGTERM or SIGINT closes it; a second signal, or `graceMs` gone by,
 * ends the process at once. Why it does not start is printed for whoever starts it, with a stack only where the fault is ours.
 */
export async function runProcess(options: {
  start: () => Promise<Closable>;
  graceMs?: number;
}): Promise<void> {
  tuneHeap();
  let running: Closable;
  try {
    running = await options.start();
  } catch (err) {
    process.stderr.write(`${whyNotStarted(err)}\n`);
    process.exitCode = 1;
    process.exit();
  }
  let closing = false;
  const stop = async () => {
    if (closing) process.exit(1);
    closing = true;
    setTimeout(() => process.exit(1), options.graceMs ?? graceDefaultMs).unref();
    await running.close();
    process.exit(0);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  // Whoever started this process as a part of something larger has gone.
  if (process.channel) {
    process.channel.unref();
    process.once('disconnect', stop);
  }
}
