import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import type { ResourceDeps } from '../../src/resources/resource-deps.ts';
import { destinationRoutes } from '../../src/resources/watches/destinations.ts';

it('sends deliveries again since a time of the calendar with a zone, and refuses others', async () => {
  const asked: unknown[] = [];
  const redeliver = async ({ since }: { since?: Date }) => {
    asked.push(since?.toISOString());
    return { count: 0 };
  };
  const deps = { upstreams: { catalog: { redeliver } }, settings: {} } as unknown as ResourceDeps;
  const route = destinationRoutes(deps).find(
    ({ path }) => path === '/v1/destinations/:destinationId/redeliver',
  );
  const send = async (since?: string) => {
    const request = { params: { destinationId: 'd' }, body: { since }, context: {} };
    return route?.handler(request as unknown as FastifyRequest, {} as FastifyReply);
  };
  await send();
  await send('2026-05-01T02:00:00+02:00');
  for (const since of ['2026-02-30T00:00:00Z', '2026-02-30', '04/03/2026', '2026-01-01T00:00:00'])
    await expect(send(since)).rejects.toMatchObject({ code: 'VALIDATION' });
  expect(asked).toEqual([undefined, '2026-05-01T00:00:00.000Z']);
});
