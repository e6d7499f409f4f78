import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { expectLinear } from '../../../../tests/support/growth.ts';
import { chooseCoding, compressorsMax, createCompression } from '../../src/response/compression.ts';

const request = { method: 'GET', headers: { 'accept-encoding': 'zstd' } } as never;
const createReply = () => {
  const headers = new Map<string, unknown>();
  return {
    statusCode: 200,
    getHeader: (name: string) => headers.get(name),
    header: (name: string, value: unknown) => void headers.set(name, value),
  } as never;
};

it('compresses no more streams at the same time than it may, and frees those whose client left', async () => {
  const { open } = createCompression({ enabled: true });
  const responses = Array.from({ length: compressorsMax }, () => {
    const response = new PassThrough();
    open(request, createReply())
      ?.pipeTo(response as never)
      .write('x'.repeat(100_000));
    return response;
  });
  expect(open(request, createReply())).toBeUndefined();
  for (const response of responses) response.destroy();
  await expect.poll(() => open(request, createReply()) !== undefined).toBe(true);
});

it('frees the streams whose client left before the first rows', async () => {
  const { open } = createCompression({ enabled: true });
  for (let i = 0; i < compressorsMax; i++) {
    const response = new PassThrough().destroy();
    await once(response, 'close');
    open(request, createReply())?.pipeTo(response as never);
  }
  await expect.poll(() => open(request, createReply()) !== undefined).toBe(true);
});

it('changes nothing if it is turned off', () => {
  const { open } = createCompression({ enabled: false });
  expect(open(request, createReply())).toBeUndefined();
});

it.each([
  ['', undefined],
  ['identity', undefined],
  ['GZIP;Q=0.3', 'gzip'],
  ['gzip;q=0', undefined],
  ['br, gzip', 'br'],
  ['identity;q=0.5, br;q=0.4', undefined],
])('chooses a coding for "%s"', (accepted, coding) => {
  expect(chooseCoding(accepted)).toBe(coding);
});

it('reads a long list of codings in linear time', () =>
  expectLinear((size) => chooseCoding(`gzip${' '.repeat(size)}x`), 160_000));
