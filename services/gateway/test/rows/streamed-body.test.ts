import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { idlePace, readChunks, uploadPace } from '../../src/rows/streamed-body.ts';

function requestOf(body: Readable) {
  let renewed = 0;
  const request = { body, context: { requireCaller: async () => {}, renewDeadline: () => renewed++ } };
  return { request: request as never, renewals: () => renewed };
}

it('yields the chunks of a body, and renews the deadline with each', async () => {
  const { request, renewals } = requestOf(Readable.from([Buffer.from('a'), Buffer.from('b')]));
  const chunks: string[] = [];
  for await (const chunk of readChunks(request)) chunks.push(String(chunk));
  expect([chunks, renewals()]).toEqual([['a', 'b'], 2]);
});

it('fails if no data arrives for too long', async () => {
  const body = new Readable({ read: () => {} });
  body.push('a');
  const chunks = readChunks(requestOf(body).request, idlePace(30));
  expect(String((await chunks.next()).value)).toBe('a');
  await expect(chunks.next()).rejects.toMatchObject({
    code: 'VALIDATION',
    message: 'No data arrived for 0.03 seconds.',
  });
  expect(body.destroyed).toBe(false);
});

it('does not read the rest of a body after its reader has stopped', async () => {
  const body = Readable.from([Buffer.from('a'), Buffer.from('b')]);
  for await (const chunk of readChunks(requestOf(body).request)) if (String(chunk) === 'a') break;
  expect(body.destroyed).toBe(false);
  expect(body.listenerCount('readable')).toBe(0);
});

describe('the pace of an upload', () => {
  it('counts only the time that the hub waits for the client', () => {
    const pace = uploadPace(1_000, 100);
    pace.took?.(600, 50);
    expect(pace.waitMs).toBe(400);
    pace.took?.(400, 50);
    expect(pace.waitMs).toBe(1_000);
    pace.took?.(900, 10);
    expect(() => pace.took?.(100, 10)).toThrow(expect.objectContaining({ code: 'UPLOAD_TOO_SLOW' }));
  });

  it('lets a body go on that pauses after enough has arrived, and counts anew from there', async () => {
    const body = new PassThrough();
    body.write('x'.repeat(1_000));
    const chunks = readChunks(requestOf(body).request, uploadPace(30, 1_000));
    await chunks.next();
    const next = chunks.next();
    setTimeout(() => body.write('y'), 40);
    expect(String((await next).value)).toBe('y');
    await expect(chunks.next()).rejects.toMatchObject({ code: 'UPLOAD_TOO_SLOW' });
  });

  it('ends a body that stops', async () => {
    const body = new PassThrough();
    body.write('a');
    const chunks = readChunks(requestOf(body).request, uploadPace(30, 1_000));
    await chunks.next();
    await expect(chunks.next()).rejects.toMatchObject({ code: 'UPLOAD_TOO_SLOW', retryable: true });
  });
});
