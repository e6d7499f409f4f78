import { BeginOperationResponse_State as State } from '@datahub/proto/catalog/v1/catalog';
import { expect, it } from 'vitest';
import { createIdempotency } from '../../src/http/idempotency.ts';

const failed = async (request: object) => {
  let finished: { status: number; unknown: boolean } | undefined;
  const catalog = { finishOperation: async (outcome: never) => (finished = outcome) };
  const config = {};
  await createIdempotency({ catalog: catalog as never, requestTimeoutMs: 60_000 }).finish(
    { operationId: 'r', context: { route: { config } }, ...request } as never,
    { statusCode: 503 } as never,
    { payload: '{}' },
  );
  return finished;
};

it('frees the key of what was not done', async () => {
  expect(await failed({ failedWith: 'UNAVAILABLE' })).toMatchObject({ status: 0 });
  expect(await failed({ failedWith: 'NOT_FOUND' })).toMatchObject({ status: 0 });
});

it('keeps that nobody knows where the outcome is unknown, for the next repeat to find out', async () => {
  expect(await failed({ failedWith: 'SOURCE_BROKEN' })).toMatchObject({ status: 503, unknown: true });
  expect(await failed({ failedWith: 'OUTCOME_UNKNOWN' })).toMatchObject({ status: 503, unknown: true });
});

it('tells how long the request may take', async () => {
  let begun: object | undefined;
  const catalog = {
    beginOperation: async (request: object) => {
      begun = request;
      return { state: State.STATE_UNRECORDED };
    },
  };
  const request = {
    headers: { 'idempotency-key': 'i' },
    method: 'POST',
    url: '/v1/execute',
    body: {},
    context: {},
  };
  await createIdempotency({ catalog: catalog as never, requestTimeoutMs: 3_600_000 }).begin(
    request as never,
    {} as never,
  );
  expect(begun).toMatchObject({ longestMs: 3_600_000 });
});
