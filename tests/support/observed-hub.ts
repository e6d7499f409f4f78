/** A hub of four processes with ordinary calls of all kinds, for the tests and the picture of the dashboard. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@datahub/service-kit/process/free-port';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Api, createApi } from './api.ts';
import { accessOf } from './databases.ts';
import { hubSettings } from './spawned.ts';

export interface ObservedHub {
  api: Api;
  hub: DistributedHub;
  hubId: string;
  /** The ports of `/metrics` by job. */
  jobs: Record<string, number[]>;
  store(sourceId: string, query: string, more?: object): Promise<string>;
  /** A source at the database, or at another port. */
  addSource(port?: number): Promise<string>;
  /** Sends calls of all kinds, one after the other with a pause, until `stop`. */
  startTraffic(pauseMs?: number): { stop(): Promise<void> };
  close(): Promise<void>;
}

export async function startObservedHub(
  databaseUrl: string,
  settings: Record<string, string> = {},
): Promise<ObservedHub> {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-observed-'));
  const key = `observed-key-${randomBytes(24).toString('hex')}`;
  const metricsPort = await freePort();
  const hub = await startDistributed(
    {
      ...hubSettings(dir, key),
      DATAHUB_METRICS_PORT: String(metricsPort),
      DATAHUB_EDGE: 'none',
      ...settings,
    },
    'inherit',
  );
  const api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'observed' }));
  const addSource = async (port?: number): Promise<string> => {
    const connectionSettings = { ...accessOf(databaseUrl), ...(port === undefined ? {} : { port }) };
    const body = { hubId, label: 'source', engine: 'postgres', connectionSettings };
    return (await api.ok(api.post('/v1/sources', body))).sourceId;
  };
  const store = async (sourceId: string, query: string, more: object = {}): Promise<string> =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'query', query, ...more }))).config.query
      .queryId;
  return {
    api,
    hub,
    hubId,
    jobs: {
      'data-hub-gateway': [metricsPort],
      'data-hub-executor': hub.executorMetricsPorts,
      'data-hub-catalog': hub.catalogMetricsPorts,
      'data-hub-ml': hub.mlMetricsPorts,
    },
    store,
    addSource,
    startTraffic: (pauseMs = 20) => startTraffic({ api, store, addSource }, pauseMs),
    close: async () => {
      await hub.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function startTraffic(hub: Pick<ObservedHub, 'api' | 'store' | 'addSource'>, pauseMs: number) {
  const { api } = hub;
  let stopped = false;
  const run = async () => {
    const sourceId = await hub.addSource();
    const queryId = await hub.store(sourceId, 'SELECT n, n * n AS square FROM generate_series(1, 50) n');
    const cachedId = await hub.store(sourceId, 'SELECT now() AS at', { cache: { maxAgeS: 1 } });
    const { id: classifierId } = await api.ok(api.post('/v1/classifiers', { name: 'mood' }));
    for (const [text, label] of [
      ['a fine day', 'good'],
      ['an awful day', 'bad'],
    ])
      await api.ok(api.post(`/v1/classifiers/${classifierId}/train`, { context: text, label }));
    const calls = [
      () => api.post('/v1/queries/execute', { queryId }),
      () => api.post('/v1/queries/execute', { queryId }),
      () => api.get(`/v1/queries/${cachedId}/data`),
      () => api.get('/v1/hubs'),
      () => api.post(`/v1/classifiers/${classifierId}/predict`, { context: 'a fine day' }),
      () => api.post('/v1/queries/execute', { queryId: 'unknown' }),
    ];
    for (let i = 0; !stopped; i++) {
      await calls[i % calls.length]?.().catch(() => {});
      await sleep(pauseMs);
    }
  };
  const running = run();
  return {
    stop: async () => {
      stopped = true;
      await running;
    },
  };
}
