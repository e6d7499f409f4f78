import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { CallStop } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { expect, it } from 'vitest';
import { trainedExampleRoutes } from '../../../src/resources/classifiers/trained-examples.ts';

it('ends an export whose deadline passes with the reason, which its answer tells', async () => {
  const ml = { listExamples: async () => ({ examples: [], more: true, total: 9, nextAfter: 'a' }) };
  const settings = { responseBudget: { reserve: () => {} } };
  const [list] = trainedExampleRoutes({ upstreams: { ml }, settings } as never);
  const signal = new CallStop();
  const request = {
    params: { classifierId: 'c' },
    query: {},
    headers: { accept: 'text/csv' },
    context: { signal, requireCaller: async () => {}, renewDeadline: () => {} },
  };
  const reply = { header: () => reply, type: () => reply, send: (stream: Readable) => stream };
  const stream = (await list?.handler(request as never, reply as never)) as Readable;
  const failed = once(stream, 'error');
  const timeout = new HubError('STATEMENT_TIMEOUT', 'The request took longer than the hub allows.');
  signal.abort(timeout);
  expect(await failed).toEqual([timeout]);
});
