import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';
import { parseMs } from './stalls/measure.ts';

const characters = 100_000;
const fill = (text: string) =>
  text
    .repeat(Math.ceil(characters / text.length))
    .slice(0, characters)
    .toWellFormed();
const texts: Record<string, string> = {
  dashes: fill('-'),
  spaces: fill(' '),
  'one letter': fill('a'),
  'zero-width joiners': fill('\u200d'),
  'combining marks': `a${fill('\u0301')}`,
  'Chinese without spaces': fill('数据库查询返回结果'),
  'Thai without spaces': fill('ฐานข้อมูลส่งคืนผลลัพธ์'),
  'nested brackets': fill('['),
  'one sentence': fill('word and another '),
  'many sentences': fill('This is a sentence. '),
  'sentences of one word': fill('No. '),
  'numbers with points': fill('1.2.3.'),
  'right to left': fill('قاعدة البيانات '),
  emoji: fill('👩‍👩‍👧‍👦'),
};
/** What three calls may take of the event loop together, and of all threads: CPU time, which no other program adds to. */
const loopMsMax = 100;
const cpuMsMax = 1_000;
/** On a slow or busy machine, the CPU time of parsing a megabyte this often counts instead of `loopMsMax`. */
const parsesMax = 8;

describe.skipIf(process.platform !== 'linux')('100,000 characters of', () => {
  let hub: SpawnedHub;
  let path: string;
  beforeAll(async () => {
    hub = await spawnHub({});
    const { api } = hub;
    path = `/v1/classifiers/${(await api.ok(api.post('/v1/classifiers', { name: 'hostile' }))).id}`;
    for (let i = 0; i < 50; i++) {
      await api.ok(
        api.post(`${path}/train`, { label: i % 2 ? 'a' : 'b', context: `some ordinary text ${i}` }),
      );
    }
  });
  afterAll(() => hub.close());

  it.each(Object.entries(texts))(
    '%s are learnt, judged and summarized with bounded work, or refused, and hold up nobody else',
    async (_name, text) => {
      const before = cpuMsOf(hub.pid);
      for (const [at, body] of [
        [`${path}/train`, { label: 'a', context: text }],
        [`${path}/predict`, { context: text }],
        ['/v1/ai/summarize', { context: [text] }],
      ] as const) {
        const { status, body: answer } = await hub.api.post(at, body);
        expect([200, 400, 413, 422], JSON.stringify(answer)).toContain(status);
      }
      const after = cpuMsOf(hub.pid);
      const took = { loop: after.loop - before.loop, all: after.all - before.all };
      process.stdout.write(
        `${took.loop.toFixed(0)} ms of the event loop, ${took.all.toFixed(0)} ms in all\n`,
      );
      const slowness = Math.max(1, (parsesMax * parseMs()) / loopMsMax);
      expect(took.loop).toBeLessThan(loopMsMax * slowness);
      expect(took.all).toBeLessThan(cpuMsMax * slowness);
    },
  );
});

/** The CPU time of a process: of its main thread, which runs the event loop, and of all threads. */
function cpuMsOf(pid: number): { loop: number; all: number } {
  const ofThread = (thread: string) => {
    const [ns = ''] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
    return Number(ns) / 1_000_000;
  };
  const threads = readdirSync(`/proc/${pid}/task`);
  return { loop: ofThread(String(pid)), all: threads.reduce((sum, one) => sum + ofThread(one), 0) };
}
