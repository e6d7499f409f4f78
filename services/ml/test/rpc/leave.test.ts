import { randomUUID } from 'node:crypto';
import { CallStop } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { expect, it } from 'vitest';
import { createClassifierCalls } from '../../src/rpc/classifiers.ts';
import { openMlStore } from '../../src/store.ts';
import { logDeps } from '../classifiers/log-deps.ts';
import { callDeps } from './call-deps.ts';

it('ends calls whose caller leaves: those that wait do nothing, and one that learns is settled by a repeat', async () => {
  const store = await openMlStore('sqlite::memory:', randomUUID);
  const log = logDeps(store);
  const calls = createClassifierCalls(callDeps(log));
  const callOf = (signal = new CallStop()) => ({
    requestId: 'r',
    deadlineAt: Number.POSITIVE_INFINITY,
    signal,
    principal: { accountId: 'account', keyId: 'key', scopes: ['*'], limits: undefined },
  });
  const { classifier } = await calls.createClassifier({ name: 'tickets' }, callOf());
  const classifierId = classifier?.classifierId ?? '';
  const { insert } = store.events;
  const stored = Promise.withResolvers<void>();
  store.events.insert = async (doc, ...rest) => {
    await insert.call(store.events, doc, ...rest);
    stored.resolve();
  };
  const examples = Array.from({ length: 2_000 }, (_, i) => ({ label: `class ${i}`, context: `text ${i}` }));
  const stops = [new CallStop(), new CallStop(), new CallStop()] as const;
  const learns = calls.train({ classifierId, examples, eventId: 'event' }, callOf(stops[0]));
  await stored.promise;
  const waits = calls.train({ classifierId, examples: examples.slice(0, 1), eventId: '' }, callOf(stops[1]));
  const predicts = calls.predict({ classifierId, contexts: ['text 1'] }, callOf(stops[2]));
  const timedOut = new HubError('STATEMENT_TIMEOUT', 'The request took longer than the hub allows.');
  const ended = Promise.allSettled([learns, waits, predicts]);
  // The calls must have arrived in the queue of the classifier.
  await calls.listClassifiers({ offset: 0 }, callOf());
  for (const stop of stops) stop.abort(timedOut);
  expect(await ended).toMatchObject([
    { reason: { code: 'OUTCOME_UNKNOWN' } },
    { reason: timedOut },
    { reason: timedOut },
  ]);
  const { classes } = await calls.train({ classifierId, examples, eventId: 'event' }, callOf());
  expect(classes).toHaveLength(2_000);
  expect(classes.every(({ observations }) => observations === 1)).toBe(true);
  expect(await store.events.count({ accountId: 'account' })).toBe(1);
  // A snapshot is written before this call.
  await calls.getClassifier({ classifierId }, callOf());
  await store.close();
});
