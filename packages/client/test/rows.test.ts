import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { ProblemError } from '../dist/index.js';
import { type Answer, cutOff, useServer } from './server.ts';

const { answers, client, received } = useServer();

const collect = async (rows: AsyncIterable<unknown>): Promise<unknown[]> => {
  const seen: unknown[] = [];
  for await (const row of rows) seen.push(row);
  return seen;
};

/** Sends each part as a chunk of its own. */
const parts =
  (texts: (string | Uint8Array)[], end: (response: ServerResponse) => void = (one) => one.end()): Answer =>
  async (response) => {
    for (const text of texts) {
      response.write(text);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    end(response);
  };

describe('rows', () => {
  it('are whole wherever the chunks end', async () => {
    const text = Buffer.from('{"a":"é€😀"}\n{"a":"x"}\n{"a":"y"}\n\x1e{}\n');
    answers(parts([...text].map((byte) => Uint8Array.of(byte))));
    expect(await collect(client().rows('q'))).toEqual([{ a: 'é€😀' }, { a: 'x' }, { a: 'y' }]);
    expect(received[0]?.headers.accept).toBe('application/x-ndjson');
  });

  it('come as they are sent', async () => {
    let open: ServerResponse | undefined;
    answers((response) => {
      open = response;
      response.write('{"id":1}\n');
    });
    for await (const row of client().rows('q')) {
      expect(row).toEqual({ id: 1 });
      open?.end('\x1e{}\n');
    }
  });

  it('can be none', async () => {
    answers(parts(['\x1e{}\n']));
    expect(await collect(client().rows('q'))).toEqual([]);
  });

  it('tell that there were more', async () => {
    answers(parts(['{"id":1}\n{"truncated":true}\n\x1e{"truncated":true}\n']));
    const rows = client().rows('q');
    expect([await collect(rows), rows.truncated]).toEqual([[{ id: 1 }], true]);
    answers(parts(['{"truncated": true}\n\x1e{}\n']));
    expect([await collect(rows), rows.truncated]).toEqual([[{ truncated: true }], false]);
  });

  const cuts: [string, Answer][] = [
    ['between rows', parts(['{"id":1}\n'], (response) => response.destroy())],
    ['in a row', parts(['{"id":1}\n{"id'], (response) => response.destroy())],
    ['between rows, by a proxy that completes the body', parts(['{"id":1}\n'])],
    ['in the ending', parts(['{"id":1}\n\x1e{'])],
    ['in a row, and the hub says why', parts(['{"id":1}\n{"i\x1e{"problem":{"status":422}}\n'])],
    ['in a row, by a proxy that completes the body', parts(['{"id":1}\n{"id'])],
    ['in a row, which a proxy ends with a line', parts(['{"id":1}\n{"id\n'])],
  ];
  it.each(cuts)('raise an error if they are cut %s', async (_name, answer) => {
    answers(answer);
    const seen: unknown[] = [];
    const loop = async () => {
      for await (const row of client().rows({ queryId: 'q', reads: true })) seen.push(row);
    };
    const err = await loop().then(
      () => undefined,
      (err) => err,
    );
    expect(err).toBeInstanceOf(ProblemError);
    expect(err).toMatchObject({ status: 0, code: 'CUT_SHORT' });
    // Rows that were yielded cannot be taken back, so the query is not run again.
    expect([seen, received.length]).toEqual([[{ id: 1 }], 1]);
  });

  it('raise an error if no more comes for the time of an answer, which ends while the loop works', async () => {
    answers((response) => void response.write('{"id":1}\n{"id":2}\n'));
    const seen: unknown[] = [];
    const loop = async () => {
      for await (const row of client({ timeoutMs: 200 }).rows('q')) {
        if (seen.push(row) === 1) await new Promise((resolve) => setTimeout(resolve, 400));
      }
    };
    await expect(loop()).rejects.toMatchObject({ status: 0, code: 'TIMEOUT' });
    expect(seen).toEqual([{ id: 1 }, { id: 2 }]);
  });

  it('are asked for again if none came, and only of a read', async () => {
    answers(cutOff, parts(['{"id":1}\n\x1e{}\n']));
    expect(await collect(client().rows({ queryId: 'q', reads: true }))).toEqual([{ id: 1 }]);
    answers(cutOff, parts(['{"id":1}\n\x1e{}\n']));
    await expect(collect(client().rows('q'))).rejects.toMatchObject({ code: 'NO_ANSWER' });
  });

  it('that are not wanted are not read: leaving the loop ends the request', async () => {
    let closed = false;
    answers((response) => {
      response.on('close', () => {
        closed = true;
      });
      response.write('{"id":1}\n{"id":2}\n');
    });
    for await (const _row of client().rows('q')) break;
    await expect.poll(() => closed).toBe(true);
  });
});
