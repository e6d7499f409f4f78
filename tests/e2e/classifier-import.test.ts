import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { api } from '../support/hub.ts';

const csv = { 'content-type': 'text/csv; charset=utf-8' };
const ndjson = { 'content-type': 'application/x-ndjson' };

describe('an import of examples', () => {
  let path: string;

  beforeEach(async () => {
    path = `/v1/classifiers/${(await api.ok(api.post('/v1/classifiers', {}))).id}`;
  });
  // FerretDB reads all examples of all classifiers to find those of one.
  afterEach(() => api.delete(path));

  const send = (raw: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
    api.call('POST', `${path}/train`, { raw, headers });
  const observations = async () => {
    const { classes } = await api.ok(api.get(path));
    return Object.fromEntries(
      classes.map(({ label, observations }: { label: string; observations: number }) => [
        label,
        observations,
      ]),
    );
  };

  it('reads CSV with quotes, line breaks and other columns, and reports faults by line', async () => {
    const text = [
      '\ufeffid,label,context',
      '1,tea,"green, ""fresh""',
      'tea"',
      '2,,black tea',
      '3,coffee,   ',
      '4,coffee',
      '5,coffee,espresso',
      '6,coffee,5" pipe',
      `7,${'x'.repeat(201)},`,
      '8,"tea","last"',
    ].join('\r\n');
    const { status, body } = await send(text, csv);
    expect([status, body]).toEqual([
      200,
      {
        trained: 3,
        skipped: 5,
        faults: [
          { line: 4, detail: 'label must have 1 to 200 characters' },
          { line: 5, detail: 'context must not be blank' },
          { line: 6, detail: 'has 2 fields, and the header has 3' },
          { line: 8, detail: 'has a quote inside a field without quotes' },
          { line: 9, detail: 'label must have 1 to 200 characters; context must not be blank' },
        ],
      },
    ]);
    expect(await observations()).toEqual({ tea: 2, coffee: 1 });
  });

  it('reads NDJSON, and reports the first 50 faults', async () => {
    const good = '{"label":"a","context":"apple","id":7}\n\n';
    const bad = ['{"label":"a"}', '[]', '{', '{"label":1,"context":"\\ud800"}'];
    const { status, body } = await send(`${good}${bad.join('\n')}\n${'x\n'.repeat(60)}${good}`, ndjson);
    expect([status, body.trained, body.skipped, body.faults.length]).toEqual([200, 2, 64, 50]);
    expect(body.faults.slice(0, 5)).toEqual([
      { line: 3, detail: 'context is missing' },
      { line: 4, detail: 'must be a JSON object' },
      { line: 5, detail: 'is not valid JSON' },
      { line: 6, detail: 'label must be a string; context must be valid Unicode' },
      { line: 7, detail: 'is not valid JSON' },
    ]);
    expect(await observations()).toEqual({ a: 2 });
  });

  it('accepts more bytes than a JSON body may have, and skips a line that is too long', async () => {
    const lines = Array.from({ length: 2_000 }, (_, i) =>
      JSON.stringify({ label: `label ${i % 3}`, context: `word${i % 7} ${' '.repeat(5_000)}` }),
    );
    lines.splice(1_000, 0, JSON.stringify({ label: 'long', context: 'x'.repeat(1_048_576) }));
    const { status, body } = await send(lines.join('\n'), ndjson);
    expect([status, body]).toEqual([
      200,
      { trained: 2_000, skipped: 1, faults: [{ line: 1_001, detail: 'is longer than 1048576 bytes' }] },
    ]);
    expect(await observations()).toEqual({ 'label 0': 667, 'label 1': 667, 'label 2': 666 });
  });

  it('refuses a body without examples or columns, an idempotency key and other paths', async () => {
    const pointersOf = async (answer: ReturnType<typeof send>) => {
      const { status, body } = await answer;
      return [status, ...(body.errors ?? []).map(({ pointer }: { pointer: string }) => pointer)];
    };
    expect(await pointersOf(send('text,name\na,b\n', csv))).toEqual([400, '/label', '/context']);
    expect(await pointersOf(send('label,label,context\n', csv))).toEqual([400, '/label']);
    expect(await pointersOf(send('label,context\n', csv))).toEqual([400, '']);
    expect(await pointersOf(send('\n', ndjson))).toEqual([400, '']);
    const large = `wrong\n${'a,b\n'.repeat(500_000)}`;
    expect(await pointersOf(send(large, csv))).toEqual([400, '/label', '/context']);
    const repeated = send('label,context\na,b', { ...csv, 'idempotency-key': 'k' });
    expect(await pointersOf(repeated)).toEqual([400, 'header/idempotency-key']);
    expect(await pointersOf(send('label,context\na,b', { ...csv, 'content-encoding': 'gzip' }))).toEqual([
      415,
    ]);
    for (const other of [`${path}/predict`, '/v1/classifiers']) {
      expect((await api.call('POST', other, { raw: 'a', headers: csv })).status).toBe(415);
    }
    expect(
      (await api.call('POST', '/v1/classifiers/none/train', { raw: 'label,context\na,b', headers: csv }))
        .status,
    ).toBe(404);
    expect(await observations()).toEqual({});
  });

  /** An import whose body is sent in parts, and whose answer is read line by line while it arrives. */
  const open = () => {
    const { url, key } = inject('hub');
    const headers = { ...ndjson, accept: ndjson['content-type'], 'x-service-api-key': key };
    const call = request(`${url}${path}/train`, { method: 'POST', agent: false, headers });
    const lines: any[] = [];
    const answer = Promise.withResolvers<{ status: number; type: string; complete: boolean }>();
    call.on('error', answer.reject);
    answer.promise.catch(() => {});
    call.on('response', (response) => {
      createInterface({ input: response })
        .on('line', (line) => lines.push(JSON.parse(line)))
        .on('error', () => {});
      response.on('error', () => {});
      response.on('close', () => {
        const { statusCode: status = 0, headers, complete } = response;
        answer.resolve({ status, type: headers['content-type'] ?? '', complete });
      });
    });
    const write = (count: number) => call.write('{"label":"a","context":"apple"}\n'.repeat(count));
    return { call, write, lines, answer: answer.promise };
  };
  /** Sends examples until the answer says that some are trained. Returns how many were sent. */
  const sendUntilProgress = async ({ write, lines }: ReturnType<typeof open>) => {
    let sent = 0;
    for (; (lines.at(-1)?.trained ?? 0) === 0; sent += 500) {
      expect(sent).toBeLessThan(50_000);
      write(500);
      await sleep(200);
    }
    return sent;
  };
  const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  it('lets other requests through while it reads many lines that it skips', async () => {
    let isRead = false;
    const reading = send('x\n'.repeat(300_000), ndjson).finally(() => {
      isRead = true;
    });
    let answers = 0;
    for (; !isRead; answers++) await api.ok(api.get('/v1/hubs', { key: inject('hub').otherKey }));
    expect((await api.ok(reading)).skipped).toBe(300_000);
    expect(answers).toBeGreaterThan(10);
  });

  it('answers with its progress while the body is read, and with the result at the end', async () => {
    const opened = open();
    const { call, lines, answer } = opened;
    call.write('no example\n');
    const sent = await sendUntilProgress(opened);
    expect(lines.at(-1)).toEqual({ trained: expect.any(Number), skipped: 1 });
    call.end('{"label":"b","context":"banana"}');
    expect(await answer).toMatchObject({ status: 200, complete: true });
    expect(lines.at(-1)).toEqual({
      trained: sent + 1,
      skipped: 1,
      faults: [{ line: 1, detail: 'is not valid JSON' }],
    });
    expect(lines.filter((line) => line.faults !== undefined)).toHaveLength(1);
  });

  it('ends with the problem if it fails after the first line', async () => {
    const opened = open();
    const { call, write, lines, answer } = opened;
    await sendUntilProgress(opened);
    await api.ok(api.delete(path));
    write(5_000);
    expect(await answer).toEqual({
      status: 200,
      type: 'application/x-ndjson; charset=utf-8',
      complete: true,
    });
    call.destroy();
    expect(lines.at(-1)).toMatchObject({
      code: 'NOT_FOUND',
      status: 404,
      detail: expect.stringMatching(/Before this, the first \d+ valid examples of the body were trained\.$/),
      requestId: expect.any(String),
    });
  });

  it('takes its columns from the parameters text and label, and names those of the header', async () => {
    const text = 'topic,subject,label\nfruit,apple,x\n';
    const mapped = (query: string, type = 'application/csv') =>
      api.call('POST', `${path}/train${query}`, { raw: text, headers: { 'content-type': type } });
    const { status, body } = await mapped('?text=subject&label=topic');
    expect([status, body]).toEqual([200, { trained: 1, skipped: 0, faults: [] }]);
    expect(await observations()).toEqual({ fruit: 1 });
    const found =
      'is not in the first line, the header, which has "topic", "subject", "label"; choose columns as in ?text=subject&label=topic';
    expect((await mapped('')).body.errors).toEqual([{ pointer: '/context', detail: found }]);
    expect((await mapped('?text=a/b')).body.errors).toEqual([{ pointer: '/a~1b', detail: found }]);
    expect((await mapped('?lable=topic')).body.errors).toEqual([
      { pointer: 'query/lable', detail: 'is unknown; the parameters are text, label' },
    ]);
    const lines = await mapped('?label=topic', ndjson['content-type']);
    expect(lines.body.errors).toEqual([
      { pointer: 'query/label', detail: 'is unknown; there are no parameters' },
    ]);
  });

  it('fails with a status if it fails before the first line', async () => {
    const headers = { ...csv, accept: 'application/x-ndjson' };
    const refused = await send('text,name\na,b\n', headers);
    expect([refused.status, refused.body.code]).toEqual([400, 'VALIDATION']);
    const small = await send('label,context\na,apple\n', headers);
    expect([small.status, small.text]).toEqual([200, '{"trained":1,"skipped":0,"faults":[]}\n']);
    const json = await send('label,context\na,apple\n', { ...csv, accept: 'text/html' });
    expect([json.status, json.body]).toEqual([200, { trained: 1, skipped: 0, faults: [] }]);
  });

  it('stops when a client that was sent progress leaves', async () => {
    const opened = open();
    opened.write(100_000);
    await sendUntilProgress(opened);
    opened.call.destroy();
    let [a, before] = [0, -1];
    while (a !== before) {
      await sleep(1_000);
      [a, before] = [(await observations()).a, a];
    }
    expect(a).toBeGreaterThan(0);
    expect(a).toBeLessThan(100_000);
  });

  it('stops when the client leaves', async () => {
    const stop = new AbortController();
    let sent = 0;
    const body = new ReadableStream({
      pull: async (controller) => {
        controller.enqueue(Buffer.from('{"label":"a","context":"apple"}\n'.repeat(500)));
        sent += 500;
        await new Promise((resolve) => setTimeout(resolve, 20));
        if (sent === 2_000) stop.abort();
      },
    });
    const { url, key } = inject('hub');
    const headers = { ...ndjson, 'x-service-api-key': key };
    const answer = fetch(`${url}${path}/train`, {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
      signal: stop.signal,
    } as RequestInit);
    await expect(answer).rejects.toThrow();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const { a = 0 } = await observations();
    expect(a).toBeLessThanOrEqual(sent);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await observations()).toEqual(a === 0 ? {} : { a });
  });
});
