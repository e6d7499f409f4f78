import { PredictResponse } from '@datahub/proto/ml/v1/ml';
import { CallStop } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { EncodedMessage } from '@datahub/service-kit/grpc/encoded-message';
import { expect, it } from 'vitest';
import { encodedInSlices } from '../../src/rpc/encoded-predictions.ts';
import type { SlicedWork, TimeSlices } from '../../src/scheduling/time-slices.ts';

const response = (count: number): PredictResponse => ({
  predictions: Array.from({ length: count }, (_, i) => ({
    scores: [
      { classId: `c${i}`, label: 'ä', confidence: 0.75 },
      { classId: 'other', label: '', confidence: 0 },
    ],
    otherScore: i / 100,
  })),
});

/** Every slice is over at once. */
function createSlices() {
  let turns = 0;
  const signals: unknown[] = [];
  const next = async () => {
    turns++;
  };
  const of = (_: string, signal?: unknown): SlicedWork => {
    signals.push(signal);
    return { endsAt: 0, next };
  };
  return { slices: { of } as TimeSlices, turns: () => turns, signals };
}

const ctx = {
  requestId: 'r',
  deadlineAt: Number.POSITIVE_INFINITY,
  signal: new CallStop(),
  principal: { accountId: 'account', keyId: 'key', scopes: ['*'], limits: undefined },
};
const request = { classifierId: 'c', contexts: [] };

it('encodes each prediction in a slice, to the bytes of the whole response', async () => {
  const { slices, turns, signals } = createSlices();
  const found = await encodedInSlices(async () => response(20), slices)(request, ctx);
  expect(found).toBeInstanceOf(EncodedMessage);
  expect(PredictResponse.decode((found as EncodedMessage).bytes)).toEqual(response(20));
  expect(turns()).toBe(20);
  expect(signals).toEqual([ctx.signal]);
});

it('leaves a single prediction as it is, and fails as the call does', async () => {
  const { slices, turns } = createSlices();
  expect(await encodedInSlices(async () => response(1), slices)(request, ctx)).toEqual(response(1));
  const failure = new HubError('NOT_TRAINED', 'The classifier has not been trained yet.');
  await expect(encodedInSlices(() => Promise.reject(failure), slices)(request, ctx)).rejects.toBe(failure);
  expect(turns()).toBe(0);
});
