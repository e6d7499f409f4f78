import { afterEach, describe, expect, test } from 'vitest';
import { summarize } from '../../../src/summaries/extractive/summarize.ts';
import {
  createExtractiveSummarizer,
  type ExtractiveOptions,
} from '../../../src/summaries/extractive/worker-pool.ts';
import type { Summarizer } from '../../../src/summaries/summarizer.ts';

const long = (sentences: number) =>
  Array.from(
    { length: sentences },
    (_, i) => `Ship ${i} of the line ${i % 13} came to harbour ${i % 7}.`,
  ).join(' ');
const never = { accountId: 'a', signal: new AbortController().signal };
const opened: Summarizer[] = [];

function open(options: Partial<ExtractiveOptions> = {}): Summarizer {
  const summarizer = createExtractiveSummarizer({ threads: 1, timeoutMs: 120_000, ...options });
  opened.push(summarizer);
  return summarizer;
}

afterEach(async () => {
  for (const summarizer of opened.splice(0)) await summarizer.close();
});

describe('the summarizer', () => {
  test('returns the same summaries as the function, for short and long texts', async () => {
    const summarizer = open({ threads: 2 });
    const texts = ['One. Two. Three. Four.', long(1_000), long(1_100), long(1_200)];
    const summaries = await Promise.all(
      texts.map((text) => summarizer.summarize({ documents: [[text]], sentences: 2 }, never)),
    );
    expect(summaries).toEqual(
      texts.map((text) => ({ generated: summarize([[text]], { sentences: 2 }), generator: 'extractive' })),
    );
  });

  test('leaves the event loop free', async () => {
    const summarizer = open();
    await summarizer.summarize({ documents: [[long(500)]] }, never);
    const text = long(4_000);
    const before = process.threadCpuUsage();
    summarize([[text]], {});
    const cpuOfSummary = process.threadCpuUsage(before).user;
    const cpuOfThisThread = async () => {
      const own = process.threadCpuUsage();
      await summarizer.summarize({ documents: [[text]] }, never);
      return process.threadCpuUsage(own).user;
    };
    // This thread also collects the garbage of the tests before.
    let cpu = await cpuOfThisThread();
    for (let i = 0; i < 20 && cpu >= cpuOfSummary / 2; i++) cpu = await cpuOfThisThread();
    expect(cpu).toBeLessThan(cpuOfSummary / 2);
  });

  test('passes on code and message of an error in the thread', async () => {
    const text = Array.from({ length: 100_001 }, (_, i) => `a${i}.`).join(' ');
    await expect(open().summarize({ documents: [[text]] }, never)).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message: expect.stringContaining('100001 sentences'),
    });
  });

  test('rejects invalid input without a thread', async () => {
    await expect(open().summarize({ documents: [[' ']] }, never)).rejects.toMatchObject({
      code: 'VALIDATION',
    });
  });
});

describe('under load', () => {
  test('rejects at the timeout, and continues with the next', async () => {
    const summarizer = open({ timeoutMs: 2_000 });
    const late = summarizer.summarize({ documents: [[long(99_000)]], sentences: 20_000 }, never);
    await expect(late).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    // On a busy machine a new thread may take as long.
    const next = () =>
      summarizer.summarize({ documents: [[long(300)]] }, never).then(
        ({ generator }) => generator,
        ({ code }) => code,
      );
    await expect.poll(next, { timeout: 60_000 }).toBe('extractive');
  });

  test('terminates the thread of a disconnected client, and serves the next one', async () => {
    const summarizer = open();
    const caller = new AbortController();
    const first = summarizer.summarize(
      { documents: [[long(90_000)]] },
      { accountId: 'a', signal: caller.signal },
    );
    const second = summarizer.summarize({ documents: [[long(300)]] }, never);
    caller.abort();
    await expect(first).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(second).resolves.toMatchObject({ generator: 'extractive' });
  });

  test('rejects calls over the queue limit of an account, and accepts those of others', async () => {
    const summarizer = open({ accountQueueMax: 1 });
    const request = { documents: [[long(2_000)]] };
    const calls = ['a', 'a', 'a', 'b'].map((accountId) =>
      summarizer.summarize(request, { ...never, accountId }),
    );
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    await expect(calls[2]).rejects.toMatchObject({ code: 'RATE_LIMITED', retryable: true });
  });

  test('rotates over the accounts, however many calls one of them has queued', async () => {
    const summarizer = open();
    const order: string[] = [];
    const ask = (accountId: string) =>
      summarizer.summarize({ documents: [[long(2_000)]] }, { ...never, accountId }).then(() => {
        order.push(accountId);
      });
    await Promise.all([...Array.from({ length: 10 }, () => ask('many')), ask('one')]);
    expect(order.indexOf('one')).toBe(1);
  });

  test('keeps a thread free of long texts', async () => {
    const summarizer = open({ threads: 2 });
    const order: string[] = [];
    const ask = (name: string, sentences: number) =>
      summarizer.summarize({ documents: [[long(sentences)]] }, { ...never, accountId: name }).then(() => {
        order.push(name);
      });
    await Promise.all([ask('long', 6_000), ask('another', 6_000), ask('medium', 500)]);
    expect(order[0]).toBe('medium');
  });

  test('fails only the text that needs more memory than a thread has', async () => {
    const summarizer = open({ threadMemoryMb: 24 });
    const huge = summarizer.summarize({ documents: [[long(90_000)]] }, never);
    await expect(huge).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(summarizer.summarize({ documents: [[long(300)]] }, never)).resolves.toBeDefined();
  });

  test('rejects queued and running calls when it closes', async () => {
    const summarizer = open();
    const calls = [1, 2].map(() => summarizer.summarize({ documents: [[long(50_000)]] }, never));
    const outcomes = Promise.allSettled(calls);
    await summarizer.close();
    await summarizer.close();
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
