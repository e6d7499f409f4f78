import { randomUUID } from 'node:crypto';
import { BroadcastChannel } from 'node:worker_threads';
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

/** Texts that are too long for this thread. */
const named = (name: string, length = 10_000) => ({ documents: [[name.padEnd(length, '.')]] });

/** Threads that begin with texts, and end with one when the test says so, however busy the machine is. */
function openHeld(options: Partial<ExtractiveOptions> = {}) {
  const name = randomUUID();
  const code = `
    import { BroadcastChannel, parentPort } from 'node:worker_threads';
    const channel = new BroadcastChannel('${name}');
    let text;
    parentPort.on('message', ({ documents }) => {
      text = documents[0][0].replace(/[.]+$/, '');
      channel.postMessage({ begun: text });
    });
    channel.onmessage = ({ data }) => {
      if (data.end === text) parentPort.postMessage({ generated: text });
    };`;
  const program = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  const channel = new BroadcastChannel(name);
  const begun: string[] = [];
  channel.onmessage = ({ data }: { data: { begun?: string } }) => {
    if (data.begun !== undefined) begun.push(data.begun);
  };
  const end = async (text: string) => {
    await expect.poll(() => begun, { timeout: 60_000 }).toContain(text);
    channel.postMessage({ end: text });
  };
  return { summarizer: open({ program, ...options }), begun, end, [Symbol.dispose]: () => channel.close() };
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
    let turns = 0;
    const counting = setInterval(() => turns++, 1);
    await summarizer.summarize({ documents: [[long(4_000)]] }, never);
    clearInterval(counting);
    // In this thread it would take one.
    expect(turns).toBeGreaterThan(5);
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
    using held = openHeld({ timeoutMs: 2_000 });
    const late = held.summarizer.summarize(named('late'), never);
    await expect(late).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    // On a busy machine a new thread may take as long.
    let tries = 0;
    const next = async () => {
      const name = `next ${tries++}`;
      const summary = held.summarizer.summarize(named(name), never).catch(({ code }) => code);
      void held.end(name).catch(() => {});
      return await summary;
    };
    await expect.poll(next, { timeout: 60_000 }).toMatchObject({ generator: 'extractive' });
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
    using held = openHeld();
    const ask = (accountId: string, text: string) =>
      held.summarizer.summarize(named(text), { ...never, accountId });
    const names = Array.from({ length: 10 }, (_, i) => `many ${i}`);
    const asked = [...names.map((name) => ask('many', name)), ask('one', 'one')];
    const expected = ['many 0', 'one', ...names.slice(1)];
    for (const name of expected) await held.end(name);
    await Promise.all(asked);
    expect(held.begun).toEqual(expected);
  });

  test('keeps a thread free of long texts', async () => {
    using held = openHeld({ threads: 2 });
    const ask = (text: string, length?: number) =>
      held.summarizer.summarize(named(text, length), { ...never, accountId: text });
    const longOnes = [ask('long', 300_000), ask('another', 300_000)];
    const medium = ask('medium');
    await held.end('medium');
    await medium;
    expect(held.begun.toSorted()).toEqual(['long', 'medium']);
    for (const name of ['long', 'another']) await held.end(name);
    await Promise.all(longOnes);
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
