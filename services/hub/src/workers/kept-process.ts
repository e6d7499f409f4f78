/** Keeps one process running: starts it again if it ends by itself. */

import type { ChildProcess } from 'node:child_process';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import { stopProcess } from '../processes.ts';
import { type Answers, type Channel, openChannel } from './channel.ts';

export interface KeptProcess {
  /** Settles with the first start: rejects if the process ends before it has started. */
  started: Promise<void>;
  /** Undefined between an end and the next start. */
  readonly pid: number | undefined;
  ask: Channel['ask'];
  /** Lets running work finish for `graceMs`, then kills the process. It is not started again. */
  stop(graceMs: number): Promise<void>;
}

export interface KeptProcessOptions {
  name: string;
  fork: () => ChildProcess;
  /** To the questions of the process. It asks `started` when it serves. */
  answers?: Answers;
  onStarted?: (ask: Channel['ask']) => void;
  onEnded?: () => void;
  logger: Logger;
}

/** The first restart is immediate. If the process does not run for this long, the next ones are delayed. */
const stableMs = 10_000;
const delays = { minMs: 200, maxMs: 5_000 };

export function keepRunning(options: KeptProcessOptions): KeptProcess {
  const { name, logger } = options;
  const first = Promise.withResolvers<void>();
  let child: ChildProcess | undefined;
  let channel: Channel | undefined;
  let restart: NodeJS.Timeout | undefined;
  let stopping = false;
  let hasStarted = false;
  let failures = 0;

  const start = () => {
    const forkedAt = performance.now();
    const forked = options.fork();
    const opened = openChannel(forked, {
      ...options.answers,
      started: () => {
        hasStarted = true;
        first.resolve();
        options.onStarted?.(opened.ask);
      },
    });
    child = forked;
    channel = opened;
    const onEnd = (code: number | null, signal: NodeJS.Signals | null) => {
      if (child !== forked) return;
      child = undefined;
      options.onEnded?.();
      if (stopping) return;
      if (!hasStarted) return first.reject(new Error(`The process ${name} ended during its start.`));
      failures = performance.now() - forkedAt > stableMs ? 0 : failures + 1;
      const delayMs = failures < 2 ? 0 : Math.min(delays.minMs * 2 ** (failures - 2), delays.maxMs);
      const ended = signal ?? `code ${code}`;
      logger.error(
        { event: 'process.ended', process: name, pid: forked.pid, code, signal, delayMs },
        `the process ${name} ended (${ended}); starting it again in ${delayMs} ms`,
      );
      restart = setTimeout(start, delayMs);
    };
    forked.once('exit', onEnd);
    // The system could not create a process.
    forked.once('error', () => onEnd(null, null));
  };
  start();
  return {
    started: first.promise,
    get pid() {
      return child?.pid;
    },
    ask: async (...question) => {
      if (channel === undefined) throw new Error(`The process ${name} has ended.`);
      return channel.ask(...question);
    },
    stop: async (graceMs) => {
      stopping = true;
      clearTimeout(restart);
      if (child !== undefined) await stopProcess(child, { signal: 'SIGTERM', graceMs });
    },
  };
}
