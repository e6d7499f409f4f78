/**
 * Summaries in worker threads, outside the event loop: a bounded queue, and a time limit for each call. Accounts take
 * turns. With two threads or more, long texts never use all of them, so a short text only waits for short ones.
 */

import { Worker } from 'node:worker_threads';
import { onAbort } from '@datahub/service-kit/call/abort';
import { HubError } from '@datahub/service-kit/call/error';
import { createJobQueue, type JobQueue, type QueuedJob } from '../../scheduling/job-queue.ts';
import { cancelled } from '../../scheduling/time-slices.ts';
import type { Summarizer, Summary, SummaryCaller, SummaryRequest } from '../summarizer.ts';
import { summarize } from './summarize.ts';
import { checkRequest } from './validate.ts';
import type { Answer, Task } from './worker.ts';

export interface ExtractiveOptions {
  threads: number;
  /**
   * The time limit of a call, including the queue. After it the call rejects with UNAVAILABLE, and its thread is
   * terminated.
   */
  timeoutMs: number;
  /** The most queued calls of one account. Further calls reject with RATE_LIMITED. */
  accountQueueMax?: number;
  /** The heap limit of one thread. If a text needs more, only its call fails. */
  threadMemoryMb?: number;
  /** What the threads run. */
  program?: URL;
}

/** Up to this length, a summary takes 1 to 2 ms, less than the round trip to a thread. */
const inlineCharactersMax = 6_000;
/** Longer texts can take more than a few tenths of a second. */
const longCharacters = 200_000;
const accountQueueMaxDefault = 16;
/**
 * Twice the need of the longest texts. Together with the largest request, it fits into the memory limit of the Helm
 * chart.
 */
const threadMemoryMbDefault = 384;
const retryAfterMs = 1_000;

/** Threads start with the first long text and do not keep the process alive. `close` rejects the calls in progress. */
export function createExtractiveSummarizer(options: ExtractiveOptions): Summarizer {
  const pool = new WorkerPool(options);
  return {
    summarize: (request, caller) => pool.summarize(request, caller),
    close: () => pool.close(),
  };
}

interface Job extends QueuedJob {
  task: Task;
  settle(outcome: Answer | HubError): void;
}

interface Thread {
  worker: Worker;
  job: Job | undefined;
}

class WorkerPool {
  readonly #options: ExtractiveOptions;
  readonly #queue: JobQueue<Job>;
  readonly #threads = new Set<Thread>();
  readonly #longMax: number;
  #isClosed = false;

  constructor(options: ExtractiveOptions) {
    this.#options = options;
    this.#queue = createJobQueue<Job>(options.accountQueueMax ?? accountQueueMaxDefault);
    this.#longMax = Math.max(1, options.threads - 1);
  }

  async summarize(
    { documents, ...rest }: SummaryRequest,
    { accountId, signal }: SummaryCaller,
  ): Promise<Summary> {
    const characters = checkRequest(documents, rest);
    if (this.#isClosed) throw stopping();
    signal.throwIfAborted();
    if (characters <= inlineCharactersMax) return toSummary(summarize(documents, rest));
    const task = { documents, options: optionsOf(rest) };
    return toSummary(await this.#run({ accountId, isLong: characters > longCharacters, task }, signal));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const ending = [...this.#threads];
    this.#threads.clear();
    for (const job of [...this.#queue.drain(), ...ending.map(({ job }) => job)]) job?.settle(stopping());
    await Promise.all(ending.map(({ worker }) => worker.terminate()));
  }

  #run(queued: QueuedJob & { task: Task }, signal: AbortSignal): Promise<string> {
    const { timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const abort = (error: HubError) => {
        job.settle(error);
        this.#abandon(job);
      };
      const timer = setTimeout(() => abort(timedOut(timeoutMs)), timeoutMs);
      const job: Job = {
        ...queued,
        settle: (outcome) => {
          clearTimeout(timer);
          listening[Symbol.dispose]();
          if (outcome instanceof HubError) reject(outcome);
          else if ('generated' in outcome) resolve(outcome.generated);
          else reject(new HubError(outcome.code, outcome.message, failureOptions(outcome)));
        },
      };
      const listening = onAbort(signal, () => abort(cancelled(signal)));
      if (this.#queue.add(job)) this.#startNext();
      else job.settle(queueFull());
    });
  }

  /** Starts queued jobs while there is a free thread. */
  #startNext(): void {
    while (!this.#isClosed) {
      const idle = this.#idle();
      if (idle === undefined && this.#threads.size >= this.#options.threads) return;
      const job = this.#queue.take({ allowsLong: this.#countLong() < this.#longMax });
      if (job === undefined) return;
      const thread = idle ?? this.#startThread();
      thread.job = job;
      thread.worker.postMessage(job.task);
    }
  }

  #idle(): Thread | undefined {
    for (const thread of this.#threads) if (thread.job === undefined) return thread;
    return undefined;
  }

  #countLong(): number {
    let count = 0;
    for (const { job } of this.#threads) if (job?.isLong) count++;
    return count;
  }

  #startThread(): Thread {
    const program = this.#options.program ?? new URL('./worker.ts', import.meta.url);
    const worker = new Worker(program, {
      resourceLimits: { maxOldGenerationSizeMb: this.#options.threadMemoryMb ?? threadMemoryMbDefault },
    });
    const thread: Thread = { worker, job: undefined };
    worker.on('message', (answer: Answer) => this.#finish(thread, answer));
    worker.on('error', (err) => this.#fail(thread, err));
    worker.on('exit', () => this.#fail(thread, undefined));
    worker.unref();
    this.#threads.add(thread);
    return thread;
  }

  #finish(thread: Thread, answer: Answer): void {
    const { job } = thread;
    thread.job = undefined;
    job?.settle(answer);
    this.#startNext();
  }

  /** Called when a thread has ended, most likely because it ran out of memory. The next job starts another thread. */
  #fail(thread: Thread, cause: unknown): void {
    if (!this.#threads.delete(thread)) return;
    thread.job?.settle(unavailable('The texts could not be summarized. Send fewer or shorter texts.', cause));
    this.#startNext();
  }

  /**
   * Removes the job from the queue, or terminates its thread, because a running summary cannot be interrupted
   * otherwise.
   */
  #abandon(job: Job): void {
    this.#queue.delete(job);
    for (const thread of this.#threads) {
      if (thread.job !== job) continue;
      this.#threads.delete(thread);
      void thread.worker.terminate();
    }
    this.#startNext();
  }
}

const toSummary = (generated: string): Summary => ({ generated, generator: 'extractive' });

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

const stopping = () => unavailable('The service is shutting down. Try again.');

const queueFull = () =>
  new HubError(
    'RATE_LIMITED',
    'Too many summaries of this account are in the queue. Try again after an earlier one has ended.',
    { retryable: true, retryAfterMs },
  );

const timedOut = (timeoutMs: number) =>
  unavailable(
    `The texts could not be summarized within ${timeoutMs} ms. Send fewer or shorter texts, or try again.`,
  );
