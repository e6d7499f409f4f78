/** Runs in a worker thread: answers one summary request at a time. */

import { readlinkSync } from 'node:fs';
import { constants, platform, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import type { FieldFault } from '@datahub/contract/validation-error';
import { type ErrorCode, toHubError } from '@datahub/service-kit/call/error';
import { summarize } from './summarize.ts';
import type { SummaryOptions } from './validate.ts';

export interface Task {
  documents: string[][];
  options: SummaryOptions;
}

/** The public part of an error: the class does not survive the transfer between threads. */
interface Failure {
  code: ErrorCode;
  message: string;
  errors: readonly FieldFault[] | undefined;
  cause: string | undefined;
}

export type Answer = { generated: string } | Failure;

/** With few cores the event loop goes first: other calls then hardly notice a summary. Only Linux has priorities of threads. */
function lowerPriority(): void {
  if (platform() !== 'linux') return;
  const threadId = Number(readlinkSync('/proc/thread-self').split('/').pop());
  setPriority(threadId, constants.priority.PRIORITY_BELOW_NORMAL);
}

lowerPriority();
parentPort?.on('message', ({ documents, options }: Task) => {
  parentPort?.postMessage(answer(() => summarize(documents, options)));
});

function answer(work: () => string): Answer {
  try {
    return { generated: work() };
  } catch (err) {
    const { code, message, errors } = toHubError(err);
    return { code, message, errors, cause: err instanceof Error ? err.stack : String(err) };
  }
}
