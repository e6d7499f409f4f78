import { expect, it } from 'vitest';
import { createIdempotency } from './idempotency.ts';

const failed = async (request: object) => {
  let finished: { status: number; note: string } | undefined;
  const catalog = { finishOperation: async (outcome: never) => (finished = outcome) };
  const config = { repeatable: false };
  await createIdempotency(catalog as never).finish(
    { operationId: 'r', lost: false, context: { route: { config } }, ...request } as never,
    { statusCode: 503 } as never,
    '{}',
  );
  return finished;
};

it('frees the key of what was not done', async () => {
  expect(await failed({ failedWith: 'UNAVAILABLE' })).toMatchObject({ status: 0 });
  expect(await failed({ failedWith: 'NOT_FOUND' })).toMatchObject({ status: 0 });
});

it('keeps that nobody knows where a service did not answer, unless a repeat does no harm', async () => {
  const note = expect.stringContaining('not known');
  expect(await failed({ failedWith: 'SOURCE_BROKEN' })).toMatchObject({ status: 503, note });
  expect(await failed({ failedWith: 'UNAVAILABLE', lost: true })).toMatchObject({ status: 503, note });
  const context = { route: { config: { repeatable: true } } };
  expect(await failed({ failedWith: 'UNAVAILABLE', lost: true, context })).toMatchObject({ status: 0 });
});
