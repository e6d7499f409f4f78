import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

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
/** What an event loop may be held up, with the way there and back. */
const delayMsMax = 50;
/** A server that does nothing, whose delays are the machine's own; it prints its port. */
const idleServer = `const s = require('node:http').createServer((_, r) => r.end()).listen(0, '127.0.0.1', () => console.log(s.address().port))`;

describe('100,000 characters of', () => {
  let hub: SpawnedHub;
  let path: string;
  let idleUrl: string;
  const idle = spawn(process.execPath, ['-e', idleServer], { stdio: ['ignore', 'pipe', 'ignore'] });
  const delays: number[] = [];
  const idleDelays: number[] = [];

  const note = async (list: number[], ask: () => Promise<{ status: number }>) => {
    const startedAt = performance.now();
    expect((await ask()).status).toBe(200);
    list.push(performance.now() - startedAt);
  };

  beforeAll(async () => {
    idleUrl = `http://127.0.0.1:${String((await once(idle.stdout, 'data'))[0]).trim()}/`;
    hub = await spawnHub({});
    const { api } = hub;
    path = `/v1/classifiers/${(await api.ok(api.post('/v1/classifiers', { name: 'hostile' }))).id}`;
    for (let i = 0; i < 50; i++) {
      await api.ok(
        api.post(`${path}/train`, { label: i % 2 ? 'a' : 'b', context: `some ordinary text ${i}` }),
      );
    }
  });
  afterAll(async () => {
    idle.kill();
    await hub.close();
  });

  it.each(Object.entries(texts))(
    '%s are learnt, judged and summarized in time, or refused',
    async (_name, text) => {
      let running = true;
      const watching = (async () => {
        while (running) {
          await note(delays, () => hub.api.get('/healthz'));
          await note(idleDelays, () => fetch(idleUrl));
          await sleep(2);
        }
      })();
      try {
        for (const [at, body] of [
          [`${path}/train`, { label: 'a', context: text }],
          [`${path}/predict`, { context: text }],
          ['/v1/ai/summarize', { context: [text] }],
        ] as const) {
          const startedAt = performance.now();
          const { status, body: answer } = await hub.api.post(at, body);
          expect([200, 400, 413, 422], JSON.stringify(answer)).toContain(status);
          expect(performance.now() - startedAt, at).toBeLessThan(2_000);
        }
      } finally {
        running = false;
        await watching;
      }
    },
  );

  it('all of them held up nobody else', () => {
    const p99 = (list: number[]) => list.sort((a, b) => a - b)[Math.floor(list.length * 0.99)] ?? Number.NaN;
    process.stdout.write(
      `${delays.length} other requests meanwhile: p99 ${p99(delays).toFixed(1)} ms, of an idle server ${p99(idleDelays).toFixed(1)} ms\n`,
    );
    expect(p99(delays)).toBeLessThan(delayMsMax + p99(idleDelays));
  });
});
