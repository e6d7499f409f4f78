/**
 * Summaries off the event loop: a few threads behind a bounded queue, each answer within a time limit. Accounts take
 * turns, and with two threads or more long texts never have all of them: a short text waits for short ones only.
 */

import { Worker } from 'node:worker_threads';
import { HubError } from '@datahub/service-kit/call/error';
import { createJobQueue, type QueuedJob } from '../../scheduling/job-queue.ts';
import type { Summarizer, SummaryRequest } from '../summarizer.ts';
import { summarize } from './summarize.ts';
import { checkRequest } from './validate.ts';
import type { Answer, Task } from './worker-messages.ts';

export interface ExtractiveOptions {
  threads: number;
  /** From the call to its answer, waiting included; beyond it UNAVAILABLE, and the thread is ended. */
  timeoutMs: number;
  /** Calls of one account that wait for a thread; beyond it RATE_LIMITED at once. */
  accountQueueMax?: number;
  /** Memory of one thread; a text that needs more fails alone. */
  threadMemoryMb?: number;
}

/** Texts up to this length take a millisecond or two: less than the way to a thread and back. */
const inlineCharactersMax = 6_000;
/** Texts over this length take more than some tenths of a second. */
const longCharacters = 200_000;
const accountQueueMaxDefault = 16;
/** Twice what the longest texts need; the largest request and this fit beside each other into the chart's limit. */
const threadMemoryMbDefault = 384;
const retryAfterMs = 1_000;

interface Job extends QueuedJob {
  task: Task;
  settle(outcome: Answer | HubError): void;
}

interface Thread {
  worker: Worker;
  job: Job | undefined;
}

/** Threads start at the first long text and do not keep the process alive. `close` fails what is under way. */
export function createExtractiveSummarizer(options: ExtractiveOptions): Summarizer {
  const threads = new Set<Thread>();
  const waiting = createJobQueue<Job>(options.accountQueueMax ?? accountQueueMaxDefault);
  const longMax = Math.max(1, options.threads - 1);
  let closed = false;

  const start = (): Thread => {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: options.threadMemoryMb ?? threadMemoryMbDefault },
    });
    const thread: Thread = { worker, job: undefined };
    worker.on('message', (answer: Answer) => finish(thread, answer));
    worker.on('error', (err) => lose(thread, err));
    worker.on('exit', () => lose(thread, undefined));
    worker.unref();
    threads.add(thread);
    return thread;
  };

  const finish = (thread: Thread, answer: Answer) => {
    const { job } = thread;
    thread.job = undefined;
    job?.settle(answer);
    advance();
  };

  /** A thread that ended by itself, most likely for want of memory; the next call starts another. */
  const lose = (thread: Thread, cause: unknown) => {
    if (!threads.delete(thread)) return;
    thread.job?.settle(unavailable('The texts could not be summed up. Send fewer or shorter texts.', cause));
    advance();
  };

  const advance = () => {
    while (hasRoom()) {
      const job = waiting.take({ allowsLong: longRunning() < longMax });
      if (job === undefined) return;
      const thread = idle() ?? start();
      thread.job = job;
      thread.worker.postMessage(job.task);
    }
  };
  const longRunning = () => [...threads].filter(({ job }) => job?.isLong).length;
  const hasRoom = () => !closed && (threads.size < options.threads || idle() !== undefined);

  const idle = (): Thread | undefined => {
    for (const thread of threads) if (thread.job === undefined) return thread;
    return undefined;
  };

  /** Ends the thread that works on the job: it cannot be interrupted otherwise. */
  const abandon = (job: Job) => {
    waiting.delete(job);
    for (const thread of threads) {
      if (thread.job !== job) continue;
      threads.delete(thread);
      void thread.worker.terminate();
    }
    advance();
  };

  const run = (queued: QueuedJob & { task: Task }, signal: AbortSignal): Promise<string> =>
    new Promise((resolve, reject) => {
      const giveUp = (error: HubError) => {
        job.settle(error);
        abandon(job);
      };
      const onAbort = () =>
        giveUp(new HubError('CANCELLED', 'The caller went away.', { cause: signal.reason }));
      const timer = setTimeout(() => giveUp(tooLate(options.timeoutMs)), options.timeoutMs);
      const job: Job = {
        ...queued,
        settle: (outcome) => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          if (outcome instanceof HubError) reject(outcome);
          else if ('generated' in outcome) resolve(outcome.generated);
          else reject(new HubError(outcome.code, outcome.message, failureOptions(outcome)));
        },
      };
      signal.addEventListener('abort', onAbort);
      if (waiting.add(job)) advance();
      else job.settle(tooMany());
    });

  return {
    summarize: async ({ documents, ...rest }, { accountId, signal }) => {
      const characters = checkRequest(documents, rest);
      if (closed) throw unavailable('The service is stopping. Try again.');
      signal.throwIfAborted();
      if (characters <= inlineCharactersMax) return extractive(summarize(documents, rest));
      const task = { documents, options: optionsOf(rest) };
      return extractive(await run({ accountId, isLong: characters > longCharacters, task }, signal));
    },
    close: async () => {
      closed = true;
      const stopping = unavailable('The service is stopping. Try again.');
      const ending = [...threads];
      threads.clear();
      for (const job of [...waiting.drain(), ...ending.map(({ job }) => job)]) job?.settle(stopping);
      await Promise.all(ending.map(({ worker }) => worker.terminate()));
    },
  };
}

const extractive = (generated: string) => ({ generated, generator: 'extractive' });

const optionsOf = ({ sentences, maxWords, language }: Omit<SummaryRequest, 'documents'>) => ({
  sentences,
  maxWords,
  language,
});

const failureOptions = ({ errors, cause }: Exclude<Answer, { generated: string }>) =>
  errors === undefined ? { cause } : { cause, errors };

function unavailable(message: string, cause?: unknown): HubError {
  return new HubError('UNAVAILABLE', message, { cause, retryable: true, retryAfterMs });
}

const tooMany = () =>
  new HubError('RATE_LIMITED', 'Too many summaries of this account are waiting. Wait for an earlier one.', {
    retryable: true,
    retryAfterMs,
  });

const tooLate = (timeoutMs: number) =>
  unavailable(
    `The texts could not be summed up within ${timeoutMs} ms. Send fewer or shorter texts, or try again.`,
  );
