/**
 * The hub with one stored query. Arguments: engine, URL, `small`, `cached` or `large`, and its form: `single`,
 * `distributed` or `workers`, which are two.
 */

import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tuneHeap } from '@datahub/service-kit/heap';
import { openHub } from '../../services/hub/src/compose.ts';
import { startDistributed } from '../../services/hub/src/distributed.ts';
import { serve } from './child.ts';
import { startWorkers } from './workers.ts';

tuneHeap();
const [, , engine = 'postgres', databaseUrl = '', size, form] = process.argv;
const key = `bench-key-${randomBytes(16).toString('hex')}`;
const settings = {
  PORT: '0',
  DATAHUB_METRICS_PORT: '0',
  DATAHUB_API_KEY: key,
  DATAHUB_DATA_DIR: mkdtempSync(join(tmpdir(), 'datahub-bench-')),
  DATAHUB_LOG_LEVEL: 'info',
  // A million rows take more than the default on a busy machine.
  DATAHUB_STATEMENT_TIMEOUT_MS: '600000',
  DATAHUB_REQUEST_TIMEOUT_MS: '600000',
  DATAHUB_EDGE: process.env.DATAHUB_EDGE ?? 'none',
};
const hub = await startForm();
const base = `http://127.0.0.1:${hub.port}`;

/** The processes beside this one are those in `pids`. */
async function startForm(): Promise<{ port: number; pids: number[] }> {
  if (form === 'distributed') return startDistributed(settings, 'ignore');
  if (form === 'workers') return startWorkers(2, settings);
  const { port } = await openHub(settings);
  return { port, pids: [] };
}

const headers = { 'x-service-api-key': key, 'content-type': 'application/json' };

async function post(path: string, body: object): Promise<any> {
  const response = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer;
}

const { hostname, port, username, password, pathname } = new URL(databaseUrl);
const { hubId } = await post('/v1/hubs', { label: 'bench' });
const { sourceId } = await post('/v1/sources', {
  hubId,
  label: 'bench',
  engine,
  connectionSettings: {
    host: hostname,
    port: Number(port),
    user: username,
    password: decodeURIComponent(password),
    database: pathname.slice(1),
    // Like the hand-written endpoint: both drivers connect without TLS by default.
    tls: { mode: 'disable' },
  },
});
const query =
  size === 'large' ? 'SELECT * FROM bench_rows' : 'SELECT id, name, amount FROM bench_one WHERE id = :id';
const context = [{ key: 'id', type: 'integer' }];
const cache = size === 'cached' ? { cache: { maxAgeS: 86_400 } } : {};
const stored = await post('/v1/queries', { hubId, sourceId, label: 'bench', query, context, ...cache });

serve(
  {
    url: `${base}/v1/queries/execute`,
    headers,
    body: JSON.stringify({
      queryId: stored.config.query.queryId,
      ...(size === 'large' ? {} : { context: { id: 7 } }),
    }),
  },
  hub.pids,
);
