import { createHmac } from 'node:crypto';
import { BeginOperationResponse_State as State } from '@datahub/proto/catalog/v1/catalog';
import { FindCommitResponse_End as End } from '@datahub/proto/executor/v1/executor';
import { createAgentToken } from '@datahub/service-kit/api-key';
import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import { describe, expect, it, vi } from 'vitest';
import { createIdempotency } from '../../src/http/idempotency.ts';

const executor = { findCommit: async () => ({}) } as never;

const failed = async (request: object) => {
  let finished: { status: number; unknown: boolean } | undefined;
  const catalog = { finishOperation: async (outcome: never) => (finished = outcome) };
  const config = {};
  await createIdempotency({ catalog: catalog as never, executor, requestTimeoutMs: 60_000 }).finish(
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

it('remembers that the outcome is unknown, so that the next repeat finds out', async () => {
  expect(await failed({ failedWith: 'SOURCE_BROKEN' })).toMatchObject({ status: 503, unknown: true });
  expect(await failed({ failedWith: 'OUTCOME_UNKNOWN' })).toMatchObject({ status: 503, unknown: true });
  expect(await failed({ failedWith: 'CONSTRAINT', failedPartly: true })).toMatchObject({ unknown: true });
});

const execution = {
  headers: { 'idempotency-key': 'i', 'x-service-api-key': 'k' },
  method: 'POST',
  url: '/v1/execute',
  body: {},
  context: {},
};

it('tells how long the request may take', async () => {
  let begun: object | undefined;
  const catalog = {
    beginOperation: async (request: object) => {
      begun = request;
      return { state: State.STATE_UNRECORDED };
    },
  };
  await createIdempotency({ catalog: catalog as never, executor, requestTimeoutMs: 3_600_000 }).begin(
    execution as never,
    {} as never,
  );
  expect(begun).toMatchObject({ longestMs: 3_600_000 });
});

describe('the digest of a body', () => {
  const macOf = async (request: object, oidc?: { clientSecret: string }) => {
    let mac = '';
    const beginOperation = async ({ bodyMac }: { bodyMac: Buffer }) => {
      mac = bodyMac.toString('hex');
      return { state: State.STATE_UNRECORDED };
    };
    await createIdempotency({
      ...{ catalog: { beginOperation } as never, executor, oidc, requestTimeoutMs: 60_000 },
    }).begin({ ...execution, ...request } as never, {} as never);
    return mac;
  };
  const oidc = { clientSecret: 'secret' };
  const person = (id: string, headers: object = {}) => ({
    headers: { 'idempotency-key': 'i', ...headers },
    context: { principal: { keyId: id, person: { id } } },
  });

  it('of a person does not depend on the session or token, and cannot be made without the secret', async () => {
    const ofSession = await macOf(person('ada'), oidc);
    expect(await macOf(person('ada', { 'x-service-api-key': 'token' }), oidc)).toBe(ofSession);
    expect(ofSession).not.toBe(createHmac('sha256', 'undefined').update('{}').digest('hex'));
    expect(await macOf(person('ada'), { clientSecret: 'other' })).not.toBe(ofSession);
    expect(await macOf(person('bob'), oidc)).not.toBe(ofSession);
    expect(await macOf({ ...person('ada'), body: { a: 1 } }, oidc)).not.toBe(ofSession);
    await expect(macOf(person('ada'))).rejects.toMatchObject({ code: 'INTERNAL' });
  });

  it('of a key needs the key, also of one that a person made', async () => {
    const made = { principal: { keyId: 'k1', person: { id: 'ada' } } };
    const ofKey = createHmac('sha256', 'k').update('{}').digest('hex');
    expect(await macOf({})).toBe(ofKey);
    expect(await macOf({ context: made }, oidc)).toBe(ofKey);
    const headers = { 'idempotency-key': 'i' };
    await expect(macOf({ headers })).rejects.toMatchObject({ code: 'INTERNAL' });
  });
});

const repeated = (state: State, headers: object, principal: object = { keyId: 'k1' }) => {
  const catalog = { beginOperation: async () => ({ state }) };
  const request = { ...execution, headers: { 'idempotency-key': 'i', ...headers }, context: { principal } };
  return createIdempotency({ catalog: catalog as never, executor, requestTimeoutMs: 60_000 })
    .begin(request as never, {} as never)
    .catch((err) => err);
};

it('tells a client to come back for the answer of a request that is still running', async () => {
  expect(await repeated(State.STATE_IN_FLIGHT, { 'x-service-api-key': 'k' })).toMatchObject({
    ...{ code: 'IDEMPOTENCY_CONFLICT', retryable: true, retryAfterMs: 1_000 },
  });
});

it('does not call a body another one that it cannot compare, because the token of the caller was renewed', async () => {
  const token = { 'x-service-api-key': createAgentToken('api') };
  expect(await repeated(State.STATE_OTHER_BODY, { 'x-service-api-key': 'k' })).toMatchObject({
    code: 'IDEMPOTENCY_MISMATCH',
  });
  expect(await repeated(State.STATE_OTHER_BODY, token)).toMatchObject({
    code: 'IDEMPOTENCY_CONFLICT',
    message: expect.stringContaining('before your sign-in was renewed'),
  });
});

const away = new HubError('UNAVAILABLE', 'away', { retryable: true });

it('tells the end of an operation again until the catalog has recorded it', async () => {
  const finishOperation = vi
    .fn()
    .mockRejectedValueOnce(away)
    .mockRejectedValueOnce(away)
    .mockResolvedValue({});
  const idempotency = createIdempotency({
    catalog: { finishOperation } as never,
    executor,
    requestTimeoutMs: 60_000,
  });
  const request = { operationId: 'r', operationAttempt: 'a', context: {} };
  const finishing = idempotency.finish(
    request as never,
    { statusCode: 201, getHeader: () => undefined } as never,
    { payload: '{}' },
  );
  await expect(finishing).rejects.toBe(away);
  await vi.waitFor(() => expect(finishOperation).toHaveBeenCalledTimes(3), { timeout: 10_000 });
  for (const [outcome] of finishOperation.mock.calls)
    expect(outcome).toMatchObject({ recordId: 'r', attempt: 'a', status: 201, kept: true });
  idempotency.close();
});

it.each([
  ['its outcome is unknown', outcomeUnknown(undefined)],
  ['its answer was lost', new HubError('UNAVAILABLE', 'lost', { retryable: true, lost: true })],
])('frees the key of a request that could not begin, if %s', async (_name, err) => {
  const finishOperation = vi.fn().mockRejectedValueOnce(away).mockResolvedValue({});
  let attempt = '';
  const beginOperation = async (request: { attempt: string }) => {
    attempt = request.attempt;
    throw err;
  };
  const catalog = { beginOperation, finishOperation };
  const idempotency = createIdempotency({ catalog: catalog as never, executor, requestTimeoutMs: 60_000 });
  const refused = await idempotency.begin({ ...execution } as never, {} as never).catch((thrown) => thrown);
  expect(refused).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
  // The gateway would report a lost answer as OUTCOME_UNKNOWN.
  expect(refused.lost).toBeUndefined();
  await vi.waitFor(() => expect(finishOperation).toHaveBeenCalledTimes(2), { timeout: 10_000 });
  expect(finishOperation.mock.lastCall?.[0]).toMatchObject({ status: 0, attempt, idempotencyKey: 'i' });
  idempotency.close();
});

it('leaves a key alone that was not recorded', async () => {
  const finishOperation = vi.fn();
  const catalog = { beginOperation: vi.fn().mockRejectedValue(away), finishOperation };
  const idempotency = createIdempotency({ catalog: catalog as never, executor, requestTimeoutMs: 60_000 });
  await expect(idempotency.begin({ ...execution } as never, {} as never)).rejects.toBe(away);
  idempotency.close();
  expect(finishOperation).not.toHaveBeenCalled();
});

const commit = { sourceId: 's', server: '1/1', transactionId: '7' };

describe('a request whose first attempt died in its COMMIT', () => {
  const begin = async (findCommit: () => Promise<{ end: End }>) => {
    const beginOperation = vi
      .fn()
      .mockResolvedValueOnce({ state: State.STATE_COMMITTING, commit, isLeft: true })
      .mockResolvedValue({ state: State.STATE_NEW, recordId: 'r' });
    const idempotency = createIdempotency({
      catalog: { beginOperation } as never,
      executor: { findCommit } as never,
      requestTimeoutMs: 60_000,
    });
    const begun = await idempotency
      .begin({ ...execution, context: {} } as never, {} as never)
      .catch((err) => err.code);
    return { begun, told: beginOperation.mock.calls[1]?.[0].end };
  };

  it('asks its source, and tells the catalog what it said', async () => {
    const findCommit = vi.fn(async () => ({ end: End.END_ABORTED }));
    expect(await begin(findCommit)).toEqual({ begun: false, told: { commit, committed: false } });
    expect(findCommit).toHaveBeenCalledExactlyOnceWith({ ...commit, isLeft: true }, expect.anything());
    expect(await begin(async () => ({ end: End.END_COMMITTED }))).toMatchObject({
      told: { committed: true },
    });
  });

  it('is not carried out while that is unknown', async () => {
    const ends = { END_RUNNING: End.END_RUNNING, END_UNSPECIFIED: End.END_UNSPECIFIED };
    for (const end of Object.values(ends))
      expect(await begin(async () => ({ end }))).toEqual({ begun: 'IDEMPOTENCY_CONFLICT', told: undefined });
    const away = async () => {
      throw new HubError('UNAVAILABLE', 'away', { retryable: true, lost: true });
    };
    expect(await begin(away)).toEqual({ begun: 'SOURCE_UNREACHABLE', told: undefined });
  });
});
