import { randomUUID } from 'node:crypto';
import { createQuota } from '@datahub/document-store/quota';
import { CallStop, createCallContext } from '@datahub/service-kit/call/call';
import { expect, it } from 'vitest';
import { createClassifierCalls } from '../../src/rpc/classifiers.ts';
import { openMlStore } from '../../src/store.ts';
import { logDeps } from '../classifiers/log-deps.ts';
import { callDeps } from './call-deps.ts';

it('creates a classifier without a name once, also for an account that may have no more', async () => {
  const store = await openMlStore('sqlite::memory:', randomUUID);
  const calls = createClassifierCalls({ ...callDeps(logDeps(store)), quota: createQuota(1) });
  const principal = { accountId: 'account', keyId: 'key', scopes: ['*'], limits: undefined };
  const ctx = { ...createCallContext({ timeoutMs: 60_000, principal }), operation: '42:o' };
  const first = await calls.createClassifier({ name: '' }, ctx);
  expect(await calls.createClassifier({ name: '' }, ctx)).toEqual(first);
  const other = calls.createClassifier({ name: '' }, { ...ctx, operation: '42:p' });
  await expect(other).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
  await store.close();
});

it('finds classifiers by their name, also after it changed, and reads no others', async () => {
  const store = await openMlStore('sqlite::memory:', randomUUID);
  const calls = createClassifierCalls(callDeps(logDeps(store)));
  const ctx = (accountId = 'account') => ({
    requestId: 'r',
    deadlineAt: Number.POSITIVE_INFINITY,
    signal: new CallStop(),
    principal: { accountId, keyId: 'key', scopes: ['*'], limits: undefined },
  });
  const create = async (name: string, accountId?: string) =>
    (await calls.createClassifier({ name }, ctx(accountId))).classifier?.classifierId ?? '';
  const named = async (name: string) => {
    const { classifiers, total } = await calls.listClassifiers({ offset: 0, limit: 2, name }, ctx());
    return { ids: classifiers.map(({ classifierId }) => classifierId), total };
  };
  const [first, second] = [await create('tickets'), await create('mails')];
  await create('tickets', 'other');
  expect(await named('tickets')).toEqual({ ids: [first], total: 1 });
  await calls.updateClassifier({ classifierId: second, name: 'tickets', moreVersions: [] }, ctx());
  expect(await named('tickets')).toEqual({ ids: [first, second], total: 2 });
  expect(await named('mails')).toEqual({ ids: [], total: 0 });
  await store.close();
});
