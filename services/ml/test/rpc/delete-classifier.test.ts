import { randomUUID } from 'node:crypto';
import { createQuota } from '@datahub/document-store/quota';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createIdFactory } from '@datahub/service-kit/id';
import { expect, it } from 'vitest';
import { createClassifierCache } from '../../src/classifiers/classifier-cache.ts';
import { createClassifierCalls } from '../../src/rpc/classifiers.ts';
import { createTextBudget } from '../../src/scheduling/text-budget.ts';
import { openMlStore } from '../../src/store.ts';
import { logDeps } from '../classifiers/log-deps.ts';

it('a repeated deletion deletes the examples that remained after a failed one', async () => {
  const store = await openMlStore('sqlite::memory:', randomUUID);
  const { deleteMany } = store.events;
  let fails = true;
  store.events.deleteMany = (filter) =>
    fails
      ? Promise.reject(new HubError('UNAVAILABLE', 'The store is away.'))
      : deleteMany.call(store.events, filter);
  const log = logDeps(store);
  const calls = createClassifierCalls({
    ...log,
    createId: createIdFactory({ namespace: 'test' }),
    namespace: 'test',
    cache: createClassifierCache(log, { countMax: 10, bytesMax: 1e8, idleMs: 60_000 }),
    quota: createQuota(100),
    budget: createTextBudget(),
  });
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
