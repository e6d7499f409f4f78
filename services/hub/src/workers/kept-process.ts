/** Keeps one process running: starts it again if it ends by itself. */

import type { ChildProcess } from 'node:child_process';
import { HubError } from '@datahub/service-kit/call/error';
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
  /** Throws, or returns a process that emits `error`, if the system cannot create one. */
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

interface End {
  /** Undefined if the process could not be created. */
  pid: number | undefined;
  code: number | null;
  signal: NodeJS.Signals | null;
}

const notCreated: End = { pid: undefined, code: null, signal: null };

export function keepRunning(options: KeptProcessOptions): KeptProcess {
  const { name } = options;
  const first = Promise.withResolvers<void>();
  let child: ChildProcess | undefined;
  let channel: Channel | undefined;
  let restart: NodeJS.Timeout | undefined;
  let stopping = false;
  let hasStarted = false;
  let failures = 0;

  const onEnd = (forkedAt: number, end: End) => {
    options.onEnded?.();
    if (stopping) return;
    if (!hasStarted) return first.reject(endedEarly(name));
    failures = performance.now() - forkedAt > stableMs ? 0 : failures + 1;
    const delayMs = delayAfter(failures);
    logEnd(options, end, delayMs);
    restart = setTimeout(start, delayMs);
  };
  const start = () => {
    const forkedAt = performance.now();
    let forked: ChildProcess;
    try {
      forked = options.fork();
    } catch {
      return onEnd(forkedAt, notCreated);
    }
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
    forked.once('exit', (code, signal) => {
      child = undefined;
      onEnd(forkedAt, { pid: forked.pid, code, signal });
    });
    // A process that exists reports its end by `exit`, whatever else fails.
    forked.on('error', () => {
      if (forked.pid !== undefined) return;
      child = undefined;
      onEnd(forkedAt, notCreated);
    });
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
      if (child !== undefined) await stopProcess(child, { signal: 'message', graceMs });
    },
  };
}

/** It has printed the reason. */
const endedEarly = (name: string) =>
  new HubError('INTERNAL', `The process ${name} ended during its start. Its last lines say why.`);

const delayAfter = (failures: number): number =>
  failures < 2 ? 0 : Math.min(delays.minMs * 2 ** (failures - 2), delays.maxMs);

function logEnd(
  { name, logger }: Pick<KeptProcessOptions, 'name' | 'logger'>,
  { pid, code, signal }: End,
  delayMs: number,
): void {
  const how = pid === undefined ? 'could not be created' : `ended (${signal ?? `code ${code}`})`;
  logger.error(
    { event: 'process.ended', process: name, pid, code, signal, delayMs },
    `the process ${name} ${how}; starting it again in ${delayMs} ms`,
  );
}
