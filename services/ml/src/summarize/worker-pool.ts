/** Summaries off the event loop: a few threads behind a bounded queue, each answer within a time limit. */

import { Worker } from 'node:worker_threads';
import { HubError } from '@datahub/service-kit/error';
import { summarize } from '../summarize.ts';
import type { Summarizer, SummaryRequest } from '../summarizer.ts';
import { checkRequest } from './request.ts';
import type { Answer, Task } from './worker-messages.ts';

export interface ExtractiveOptions {
  threads: number;
  /** From the call to its answer, waiting included; beyond it UNAVAILABLE, and the thread is ended. */
  timeoutMs: number;
  /** Calls that wait for a thread; beyond it UNAVAILABLE at once. */
  queueMax?: number;
  /** Memory of one thread; a text that needs more fails alone. */
  threadMemoryMb?: number;
}

/** Texts up to this length take a millisecond or two: less than the way to a thread and back. */
const inlineCharactersMax = 6_000;
const queueMaxDefault = 64;
const threadMemoryMbDefault = 1_024;
const retryAfterMs = 1_000;

interface Job {
  task: Task;
  settle(outcome: Answer | HubError): void;
}

interface Thread {
  worker: Worker;
  job: Job | undefined;
}

/** Threads start at the first long text and do not keep the process alive. `close` fails what is under way. */
export function createExtractiveSummarizer(options: ExtractiveOptions): Summarizer {
  const queueMax = options.queueMax ?? queueMaxDefault;
  const threads = new Set<Thread>();
  const waiting = new Set<Job>();
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
    for (const job of waiting) {
      const thread = idle();
      if (thread === undefined) return;
      waiting.delete(job);
      thread.job = job;
      thread.worker.postMessage(job.task);
    }
  };

  const idle = (): Thread | undefined => {
    if (closed) return undefined;
    for (const thread of threads) if (thread.job === undefined) return thread;
    return threads.size < options.threads ? start() : undefined;
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

  const run = (task: Task, signal: AbortSignal): Promise<string> =>
    new Promise((resolve, reject) => {
      const giveUp = (error: HubError) => {
        job.settle(error);
        abandon(job);
      };
      const onAbort = () =>
        giveUp(new HubError('CANCELLED', 'The caller went away.', { cause: signal.reason }));
      const timer = setTimeout(() => giveUp(tooLate(options.timeoutMs)), options.timeoutMs);
      const job: Job = {
        task,
        settle: (outcome) => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          if (outcome instanceof HubError) reject(outcome);
          else if ('generated' in outcome) resolve(outcome.generated);
          else reject(new HubError(outcome.code, outcome.message, failureOptions(outcome)));
        },
      };
      signal.addEventListener('abort', onAbort);
      waiting.add(job);
      advance();
    });

  return {
    summarize: async ({ documents, ...rest }, signal) => {
      const characters = checkRequest(documents, rest);
      if (closed) throw unavailable('The service is stopping. Try again.');
      signal.throwIfAborted();
      if (characters <= inlineCharactersMax) return extractive(summarize(documents, rest));
      if (waiting.size >= queueMax)
        throw unavailable('Too many summaries are asked for at the moment. Try again.');
      return extractive(await run({ documents, options: optionsOf(rest) }, signal));
    },
    close: async () => {
      closed = true;
      const stopping = unavailable('The service is stopping. Try again.');
      const ending = [...threads];
      threads.clear();
      for (const job of [...waiting, ...ending.map(({ job }) => job)]) job?.settle(stopping);
      waiting.clear();
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

const tooLate = (timeoutMs: number) =>
  unavailable(
    `The texts could not be summed up within ${timeoutMs} ms. Send fewer or shorter texts, or try again.`,
  );
