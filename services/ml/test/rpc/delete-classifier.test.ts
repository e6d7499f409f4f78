import { randomUUID } from 'node:crypto';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { expect, it } from 'vitest';
import { createClassifierCalls } from '../../src/rpc/classifiers.ts';
import { openMlStore } from '../../src/store.ts';
import { logDeps } from '../classifiers/log-deps.ts';
import { callDeps } from './call-deps.ts';

it('a repeated deletion deletes the examples that remained after a failed one', async () => {
  const store = await openMlStore('sqlite::memory:', randomUUID);
  const { deleteMany } = store.events;
  let fails = true;
  store.events.deleteMany = (filter) =>
    fails
      ? Promise.reject(new HubError('UNAVAILABLE', 'The store is away.'))
      : deleteMany.call(store.events, filter);
  const log = logDeps(store);
  const calls = createClassifierCalls(callDeps(log));
  const ctx = createCallContext({
    timeoutMs: 10_000,
    principal: { accountId: 'account', keyId: 'key', scopes: ['*'], limits: undefined },
  });
  const { classifier } = await calls.createClassifier({ name: 'tickets' }, ctx);
  const classifierId = classifier?.classifierId ?? '';
  await calls.train({ classifierId, examples: [{ label: 'a', context: 'a secret' }], eventId: '' }, ctx);
  const left = () => store.events.count({ accountId: 'account' });

  await expect(calls.deleteClassifier({ classifierId, moreVersions: [] }, ctx)).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
  });
  expect(await left()).toBe(1);
  fails = false;
  await expect(calls.deleteClassifier({ classifierId, moreVersions: [] }, ctx)).rejects.toMatchObject({
    code: 'NOT_FOUND',
  });
  expect(await left()).toBe(0);
  await store.close();
});
