import { randomUUID } from 'node:crypto';
import { createCallContext } from '@datahub/service-kit/call/call';
import { expect, it } from 'vitest';
import { createClassifierCalls } from '../../src/rpc/classifiers.ts';
import { openMlStore } from '../../src/store.ts';
import { logDeps } from '../classifiers/log-deps.ts';
import { callDeps } from './call-deps.ts';

it('labels whose accents are encoded in two ways are one class, in a call, in the list and in a correction', async () => {
  const store = await openMlStore('sqlite::memory:', randomUUID);
  const calls = createClassifierCalls(callDeps(logDeps(store)));
  const principal = { accountId: 'account', keyId: 'key', scopes: ['*'], limits: undefined };
  const ctx = createCallContext({ timeoutMs: 60_000, principal });
  const { classifier } = await calls.createClassifier({ name: 'drinks' }, ctx);
  const classifierId = classifier?.classifierId ?? '';
  const examples = [
    { label: 'cafe\u0301', context: 'espresso' },
    { label: ' caf\u00e9', context: 'latte' },
    { label: 'tea', context: 'oolong' },
  ];
  const { classes } = await calls.train({ classifierId, examples, eventId: '' }, ctx);
  expect(classes.map(({ label }) => label)).toEqual(['caf\u00e9', 'caf\u00e9', 'tea']);
  expect(new Set(classes.map(({ classId }) => classId)).size).toBe(2);
  const listed = await calls.listExamples({ classifierId, after: '', label: 'cafe\u0301' }, ctx);
  expect(listed.examples.map(({ context }) => context)).toEqual(['espresso', 'latte']);
  const tea = (await calls.listExamples({ classifierId, after: '', label: 'tea' }, ctx)).examples[0];
  const change = { classifierId, exampleId: tea?.exampleId ?? '', label: 'cafe\u0301', moreVersions: [] };
  expect((await calls.updateExample(change, ctx)).example?.classId).toBe(classes[0]?.classId);
});
