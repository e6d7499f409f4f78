import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { toOutcome } from '../../src/resources/execute.ts';

const lost = new HubError('SOURCE_BROKEN', 'The connection was lost.', { lost: true });
const request = {
  target: { queryId: 'q' },
  context: { principal: undefined, requestId: 'r', startedAt: performance.now() - 5_000 },
} as unknown as FastifyRequest;

it.each([
  ['reads', { command: 'SELECT' }, { code: 'SOURCE_BROKEN', retryable: true }],
  ['was changed long ago', { command: 'SELECT', updatedAt: new Date(0) }, { retryable: true }],
  ['writes', { command: 'INSERT' }, { code: 'OUTCOME_UNKNOWN' }],
  ['reads since a moment ago', { command: 'SELECT', updatedAt: new Date() }, { code: 'OUTCOME_UNKNOWN' }],
])('a lost answer of a query that %s', async (_, query, expected) => {
  const catalog = { getQuery: async () => ({ query }) };
  expect(await toOutcome(lost, request, catalog as never)).toMatchObject(expected);
});
