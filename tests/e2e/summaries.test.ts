import { describe, expect, it } from 'vitest';
import { api } from '../support/hub.ts';

const summarize = (context: unknown, options?: object) =>
  api.post('/v1/ai/summarize', { context, ...(options === undefined ? {} : { options }) });

const article = [
  'The harbour of Elm was closed on Monday after a storm damaged its main pier.',
  'Winds of up to 120 kilometres an hour were measured during the night.',
  'Fishing boats could not leave, and two ferries were sent to other ports.',
  'The mayor said that the pier would be repaired within three weeks.',
  'Engineers found cracks in four of the pillars that carry the pier.',
  'A school near the harbour stayed closed because its roof had been torn off.',
  'The storm was the strongest since the harbour was built in 1962.',
  'Residents helped to clear the streets of fallen trees on Tuesday.',
  'The repair of the pier is expected to cost two million euros.',
  'The regional government promised to pay half of the cost of the repair.',
];

describe('POST /v1/ai/summarize', () => {
  it('answers sentences of the text, in their order, fewer than there were', async () => {
    const { status, body } = await summarize([article]);
    expect(status).toBe(200);
    const chosen = article.filter((sentence) => body.generated.includes(sentence));
    expect(chosen.join(' ')).toBe(body.generated);
    expect(chosen.length).toBeGreaterThan(0);
    expect(chosen.length).toBeLessThan(article.length / 2);
    expect((await summarize([article])).body).toEqual(body);
  });

  it('takes a flat array, and one text of many sentences', async () => {
    const flat = await summarize([article.join(' ')]);
    expect(flat.status).toBe(200);
    for (const sentence of flat.body.generated.split(/(?<=\.) /)) expect(article).toContain(sentence);
  });

  it('does not say twice what two documents say alike', async () => {
    const { body } = await summarize([article, article]);
    const sentences = body.generated.split(/(?<=\.) /);
    expect(new Set(sentences).size).toBe(sentences.length);
  });

  it('honours the length that is asked for', async () => {
    const one = await summarize([article], { sentences: 1 });
    expect(article).toContain(one.body.generated);
    const short = await summarize([article], { maxWords: 30 });
    expect(short.body.generated.split(/\s+/).length).toBeLessThanOrEqual(33);
  });

  it.each(['Only one sentence.', 'no full stop', '你好，世界。', 'สวัสดีชาวโลก'])(
    'gives %j back as it is',
    async (text) => {
      expect((await summarize([[text]])).body.generated).toBe(text);
    },
  );

  it('refuses an unknown language and fewer words than a sentence has, and says what is possible', async () => {
    for (const [options, pointer, detail] of [
      [{ language: 'xx' }, '/options/language', /^must be one of ar, .*, en, .*zh, also with a region/],
      [{ maxWords: 3 }, '/options/maxWords', /^must be at least 11: the shortest sentence has 11 words/],
    ] as const) {
      const { status, body } = await summarize([article], options);
      expect([status, body.errors]).toEqual([400, [{ pointer, detail: expect.stringMatching(detail) }]]);
    }
    expect((await summarize([article], { language: 'en-GB' })).status).toBe(200);
    const { body } = await summarize([article], { maxWords: 11 });
    expect(article).toContain(body.generated);
  });

  it('gives something of both of two short texts', async () => {
    const { body } = await summarize([article.slice(0, 3).join(' '), article.slice(5, 8).join(' ')]);
    expect(article.slice(0, 3).some((sentence) => body.generated.includes(sentence))).toBe(true);
    expect(article.slice(5, 8).some((sentence) => body.generated.includes(sentence))).toBe(true);
  });

  it('refuses more passages than it takes', async () => {
    const { status, body } = await summarize([Array.from({ length: 100_001 }, () => 'Word.')]);
    expect([status, body.code]).toEqual([413, 'TOO_LARGE']);
  });

  it.each([[[]], [[[]]], [[['']]], [[[' ', '\n']]], ['text'], [[1]]])('refuses %j', async (context) => {
    const { status, body } = await summarize(context);
    expect([status, body.code]).toEqual([400, 'VALIDATION']);
  });
});
