import { CallStop } from '@datahub/service-kit/call/call';
import { expect, it } from 'vitest';
import { type Handler, takesPlace } from '../../src/http/route.ts';
import { hubRoutes } from '../../src/resources/hubs.ts';
import type { ResourceDeps } from '../../src/resources/resource-deps.ts';
import { eventRoutes } from '../../src/resources/watches/events.ts';
import { createListPlaces } from '../../src/response/list-places.ts';

const requestOf = (accountId: string, signal = new CallStop()) =>
  ({ context: { principal: { accountId }, signal } }) as unknown as Parameters<Handler>[0];

it('makes two lists of an account at a time, and those of others meanwhile', async () => {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const handler = createListPlaces()((request) => {
    begun.push(request.context.principal?.accountId ?? '');
    return new Promise<void>((resolve) => ends.push(resolve));
  });
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

it('also makes trees of hubs and events wait, which can be as large', () => {
  const deps = { upstreams: {}, settings: {} } as unknown as ResourceDeps;
  const routes = [...hubRoutes(deps), ...eventRoutes(deps)];
  const waiting = routes.filter(takesPlace).map(({ path }) => path);
  expect(waiting).toEqual(['/v1/hubs', '/v1/hubs/:hubId/contents', '/v1/events']);
});
