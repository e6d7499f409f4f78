import { randomUUID } from 'node:crypto';
import { PredictResponse } from '@datahub/proto/ml/v1/ml';
import { CallStop } from '@datahub/service-kit/call/call';
import { beforeEach, expect, it, vi } from 'vitest';
import type { ClassifierCallDeps } from '../../src/rpc/classifier-access.ts';
import { createClassifierCalls } from '../../src/rpc/classifiers.ts';
import { createEncodedPredict } from '../../src/rpc/encoded-predictions.ts';
import { openMlStore } from '../../src/store.ts';
import { logDeps } from '../classifiers/log-deps.ts';
import { callDeps } from './call-deps.ts';

const ctx = {
  requestId: 'r',
  deadlineAt: Number.POSITIVE_INFINITY,
  signal: new CallStop(),
  principal: { accountId: 'account', keyId: 'key', scopes: ['*'], limits: undefined },
};

let deps: ClassifierCallDeps;
let calls: ReturnType<typeof createClassifierCalls>;
let classifierId: string;
/** The slices, and what is encoded in them. */
let order: string[];

beforeEach(async () => {
  order = [];
  const store = await openMlStore('sqlite::memory:', randomUUID);
  const log = logDeps(store);
  // Every slice is over at once.
  log.slices = {
    ...log.slices,
    of: () => ({ endsAt: 0, next: async () => void order.push('slice') }),
  };
  deps = callDeps(log);
  calls = createClassifierCalls(deps);
  const { classifier } = await calls.createClassifier({ name: 'tickets' }, ctx);
  classifierId = classifier?.classifierId ?? '';
  return () => store.close();
});

const train = () =>
  calls.train(
    {
      classifierId,
      examples: [
        { label: 'ä', context: 'late' },
        { label: 'b', context: 'broken' },
      ],
      eventId: '',
    },
    ctx,
  );

it.each([[['late']], [['late', 'broken', 'neither']]])('encodes the response to %j', async (contexts) => {
  await train();
  const { bytes } = await createEncodedPredict(deps)({ classifierId, contexts }, ctx);
  const expected = await calls.predict({ classifierId, contexts }, ctx);
  expect(PredictResponse.decode(bytes)).toEqual(expected);
});

it('encodes each prediction in the slice in which it is made', async () => {
  await train();
  const { encode } = PredictResponse;
  const spy = vi.spyOn(PredictResponse, 'encode').mockImplementation((...message) => {
    order.push('encode');
    return encode(...message);
  });
  order = [];
  await createEncodedPredict(deps)({ classifierId, contexts: ['late', 'broken', 'neither'] }, ctx);
  spy.mockRestore();
  expect(order.join(' ').replace(/(slice )+/g, 'slice ')).toBe(
    // The last one is the number of classes.
    'slice encode slice encode slice encode slice encode',
  );
});

it('fails as the call does', async () => {
  const predicts = createEncodedPredict(deps)({ classifierId, contexts: ['late'] }, ctx);
  await expect(predicts).rejects.toMatchObject({ code: 'NOT_TRAINED' });
});
