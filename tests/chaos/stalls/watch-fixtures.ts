/** What the routes of watches, events and destinations are sent, and what they read. */

import { setTimeout as wait } from 'node:timers/promises';
import type { Fixtures } from './calls.ts';
import type { Prepared } from './prepared.ts';

/** Stores a query and resolves to its id. */
type CreateQuery = (prepared: Prepared, body: object) => Promise<string>;

const plain = (path: string) => ({ plain: { path } });

const watchBody = ({ ids: { hubId, queryId } }: Prepared) => ({
  ...{ hubId, queryId, label: 'w', when: 'always', context: { a: 1 } },
  schedule: { cron: '0 0 1 1 *', timeZone: 'UTC' },
});

const destinationBody = () => ({ label: 'd', url: 'https://example.com/' });

/** The rows of a run that told as many bytes as a run may tell. */
function toldRows(prepared: Prepared, createQuery: CreateQuery) {
  let path: string | undefined;
  const create = async (): Promise<string> => {
    const { api } = prepared.hub;
    const query = `SELECT repeat('A word. ', 10) AS v, n FROM generate_series(1, 60000) n`;
    const queryId = await createQuery(prepared, { query, context: [] });
    const body = { ...watchBody(prepared), queryId, context: {}, include: ['v', 'n'] };
    const { watchId } = await api.ok(api.post('/v1/watches', body));
    const { runId } = await api.ok(api.post(`/v1/watches/${watchId}/run`));
    const run = `/v1/watches/${watchId}/runs/${runId}`;
    while ((await api.get(run)).status === 404) await wait(50);
    return `${run}/rows`;
  };
  return {
    most: async () => {
      path ??= await create();
      return { path };
    },
  };
}

export const watchFixtures = (createQuery: CreateQuery): Record<string, Fixtures> => ({
  'POST /v1/watches': { base: watchBody, spots: [['context', 'a']] },
  'GET /v1/watches': { stored: () => plain('/v1/watches') },
  'POST /v1/watches/try': { base: watchBody, spots: [['context', 'a']] },
  'GET /v1/watches/:watchId': { stored: () => ({ absent: { path: '/v1/watches/none' } }) },
  'PUT /v1/watches/:watchId': { path: () => '/v1/watches/none', base: watchBody, status: 404 },
  'DELETE /v1/watches/:watchId': { stored: () => ({ absent: { path: '/v1/watches/none' } }) },
  'POST /v1/watches/:watchId/run': { path: () => '/v1/watches/none/run', base: () => ({}), status: 404 },
  'GET /v1/watches/runs': { stored: () => plain('/v1/watches/runs') },
  'GET /v1/watches/:watchId/runs': { stored: () => ({ absent: { path: '/v1/watches/none/runs' } }) },
  'GET /v1/watches/:watchId/runs/:runId': {
    stored: () => ({ absent: { path: '/v1/watches/none/runs/none' } }),
  },
  'GET /v1/watches/:watchId/runs/:runId/rows': { stored: (prepared) => toldRows(prepared, createQuery) },
  'GET /v1/events': { stored: () => plain('/v1/events') },
  'POST /v1/destinations': { base: destinationBody },
  'GET /v1/destinations': { stored: () => plain('/v1/destinations') },
  'GET /v1/destinations/:destinationId': {
    stored: () => ({ absent: { path: '/v1/destinations/none' } }),
  },
  'PUT /v1/destinations/:destinationId': {
    path: () => '/v1/destinations/none',
    base: destinationBody,
    status: 404,
  },
  'DELETE /v1/destinations/:destinationId': {
    stored: () => ({ absent: { path: '/v1/destinations/none' } }),
  },
  'POST /v1/destinations/:destinationId/rotate': {
    path: () => '/v1/destinations/none/rotate',
    base: () => ({}),
    status: 404,
  },
  'POST /v1/destinations/:destinationId/test': {
    path: () => '/v1/destinations/none/test',
    base: () => ({}),
    status: 404,
  },
  'POST /v1/destinations/:destinationId/redeliver': {
    path: () => '/v1/destinations/none/redeliver',
    base: () => ({}),
    status: 404,
  },
  'GET /v1/deliveries': { stored: () => plain('/v1/deliveries') },
  'POST /v1/deliveries/:deliveryId/redeliver': {
    path: () => '/v1/deliveries/none/redeliver',
    base: () => ({}),
    status: 404,
  },
});
