import { HubError } from '@datahub/service-kit/call/error';
import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { sendProblem } from '../../src/response/error-handler.ts';

async function answerTo(
  err: unknown,
  config: { reads?: boolean; executes?: boolean } | undefined,
  method: 'GET' | 'POST' = 'POST',
) {
  const app = Fastify();
  app.decorateRequest('context');
  app.addHook('onRequest', async (request) => {
    request.context = { path: '/x', route: config } as never;
  });
  app.route({
    method,
    url: '/x',
    handler: async () => {
      throw err;
    },
  });
  app.setErrorHandler((thrown, _request, reply) => sendProblem(thrown, reply, { failed: () => {} } as never));
  const { statusCode, body } = await app.inject({ method, url: '/x' });
  return { status: statusCode, code: JSON.parse(body).code };
}

const lost = new HubError('UNAVAILABLE', 'No answer.', { retryable: true, lost: true });

it.each([
  ['a change whose answer was lost', lost, {}, { status: 503, code: 'OUTCOME_UNKNOWN' }],
  [
    'a change that failed unexpectedly',
    new TypeError('a fault'),
    {},
    { status: 503, code: 'OUTCOME_UNKNOWN' },
  ],
  [
    'a read that failed unexpectedly',
    new TypeError('a fault'),
    { reads: true },
    { status: 500, code: 'INTERNAL' },
  ],
  [
    'a failed execution, whose outcome the executor reports',
    new TypeError('a fault'),
    { executes: true },
    { status: 500, code: 'INTERNAL' },
  ],
  ['a change that was refused', new HubError('NOT_FOUND', 'None.'), {}, { status: 404, code: 'NOT_FOUND' }],
])('answers %s', async (_name, err, config, expected) => {
  expect(await answerTo(err, config)).toEqual(expected);
});

it('does not call a page that cannot be read a change', async () => {
  const expected = { status: 500, code: 'INTERNAL' };
  expect(await answerTo(new TypeError('a fault'), undefined, 'GET')).toEqual(expected);
});
