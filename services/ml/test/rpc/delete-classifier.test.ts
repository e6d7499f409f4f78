import { randomUUID } from 'node:crypto';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { expect, it } from 'vitest';
import { createClassifierCalls } from '../../src/rpc/classifiers.ts';
import { openMlStore } from '../../src/store.ts';
import { logDeps } from '../classifiers/log-deps.ts';
import { callDeps } from './call-deps.ts';

const createContext = () =>
  createCallContext({
    timeoutMs: 60_000,
    principal: { accountId: 'account', keyId: 'key', scopes: ['*'], limits: undefined },
  });

it('a deletion leaves no snapshot that was being written meanwhile', async () => {
  const store = await openMlStore('sqlite::memory:', randomUUID);
  const { put } = store.snapshots;
  const [begun, deleted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isWritten = false;
  store.snapshots.put = async (...args) => {
    begun.resolve();
    await deleted.promise;
    await put.apply(store.snapshots, args);
    isWritten = true;
  };
  const calls = createClassifierCalls(callDeps(logDeps(store)));
  const ctx = createContext();
  const { classifier } = await calls.createClassifier({ name: 'tickets' }, ctx);
  const classifierId = classifier?.classifierId ?? '';
  const examples = Array.from({ length: 100 }, (_, i) => ({ label: `${i % 2}`, context: `secret ${i}` }));
  for (let i = 0; i < 6; i++) await calls.train({ classifierId, examples, eventId: '' }, ctx);
  await begun.promise;
  await calls.deleteClassifier({ classifierId, moreVersions: [] }, ctx);
  deleted.resolve();
  await expect.poll(() => isWritten).toBe(true);
  await expect.poll(() => store.snapshots.get('account', classifierId)).toBeNull();
  await store.close();
});

it('a repeated deletion deletes the examples that remained after a failed one', async () => {
  const store = await openMlStore('sqlite::memory:', randomUUID);
  const { deleteMany } = store.events;
  let fails = true;
  store.events.deleteMany = (filter) =>
    fails
      ? Promise.reject(new HubError('UNAVAILABLE', 'The store is away.'))
      : deleteMany.call(store.events, filter);
  const calls = createClassifierCalls(callDeps(logDeps(store)));
  const ctx = createContext();
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
