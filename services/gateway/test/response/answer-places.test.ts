import { CallStop } from '@datahub/service-kit/call/call';
import { expect, it } from 'vitest';
import { type Handler, placeOf, type Route } from '../../src/http/route.ts';
import { createAnswerPlaces } from '../../src/response/answer-places.ts';
import { describeRoutes } from '../../src/routes.ts';

const requestOf = (accountId: string, signal = new CallStop()) =>
  ({ context: { principal: { accountId }, signal } }) as unknown as Parameters<Handler>[0];

it('makes two lists of an account at a time, and those of others meanwhile', async () => {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const route = {
    method: 'GET',
    response: { type: 'array' },
    handler: (request) => {
      begun.push(request.context.principal?.accountId ?? '');
      return new Promise<void>((resolve) => ends.push(resolve));
    },
  } as Partial<Route> as Route;
  const handler = createAnswerPlaces()(route);
  const list = (...args: Parameters<typeof requestOf>) =>
    handler(requestOf(...args), {} as Parameters<Handler>[1]);
  const lists = ['a', 'a', 'a', 'b'].map((accountId) => list(accountId));
  const left = new CallStop();
  const leaving = list('a', left);
  await expect.poll(() => begun).toEqual(['a', 'a', 'b']);
  left.abort(new Error('the client left'));
  await expect(leaving).rejects.toThrow('the client left');
  ends[0]?.();
  await expect.poll(() => begun).toEqual(['a', 'a', 'b', 'a']);
  for (const end of ends) end();
  await Promise.all(lists);
});

it('knows which answers can be as large as lists, which are documents, and which wait for a database', () => {
  const places = Object.fromEntries(
    describeRoutes().map((route) => [`${route.method} ${route.path}`, placeOf(route)]),
  );
  expect(places).toMatchObject({
    'GET /v1/hubs': 'list',
    'GET /v1/hubs/:hubId/contents': 'list',
    'GET /v1/events': 'list',
    'GET /v1/queries/:queryId': 'document',
    'PUT /v1/queries/:queryId': 'document',
    'POST /v1/queries/:queryId/restore': 'document',
    'GET /v1/queries/:queryId/data': undefined,
    'GET /v1/sources/:sourceId/schema': undefined,
    'POST /v1/queries/execute': undefined,
  });
});
