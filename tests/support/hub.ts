/** The hub that this project's tests drive, and short ways to what most of them need. */

import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { inject } from 'vitest';
import { type Answer, type CallOptions, createApi } from './api.ts';
import type { DatabaseAccess } from './databases.ts';
import { createCheck } from './described.ts';

declare module 'vitest' {
  interface ProvidedContext {
    hub: {
      url: string;
      key: string;
      otherKey: string;
      /** Of a third account, for failed log-ins: they limit the log-ins of their whole account. */
      refusedKey: string;
      /** Of a fourth account, for training jobs: an account has ten at a time. */
      jobsKey: string;
      metricsUrl: string;
      replicas: number;
      losesUpdates: boolean;
    };
    /** For each worker of vitest: its databases, by engine. */
    databases: Record<string, DatabaseAccess>[];
  }
}

const described = await createCheck(inject('hub').url);
const hubIds: string[] = [];

function check(method: string, path: string, answer: Answer): void {
  described(method, path, answer);
  if (method === 'POST' && path === '/v1/hubs' && answer.status === 200) hubIds.push(answer.body.hubId);
}

/** Each response is checked against the hub's own description of it. */
export const api = createApi(inject('hub'), check);

/** The same for the account of the key. Its hubs stay until the hub ends. */
export const apiOf = (key: string) => createApi({ url: inject('hub').url, key }, described);

export async function removeHubs(): Promise<void> {
  for (const hubId of hubIds.splice(0)) await api.delete(`/v1/hubs/${hubId}?recursive=true`);
}

export const timestamp = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
export const idShape = (kind: string) => new RegExp(`^[a-z][a-z0-9-]*\\.${kind}\\.[A-Za-z0-9_-]{20,}$`);

const databases = inject('databases')[Number(process.env.VITEST_POOL_ID) - 1] ?? {};

/** The engines there are servers for; at least one, or the suite would prove nothing. */
export const engines = Object.keys(databases);
if (engines.length === 0) throw new Error('No database to test with: set POSTGRES_URL or MARIADB_URL.');

export function database(engine: string): DatabaseAccess {
  return databases[engine] as DatabaseAccess;
}

export function sourceBody(hubId: string, engine = engines[0] as string) {
  const { host, port, user, password, database: name } = database(engine);
  return {
    hubId,
    label: `a ${engine} source`,
    engine,
    connectionSettings: { host, port, database: name, user, password },
  };
}

export async function createSource(hubId: string, engine?: string, as = api): Promise<string> {
  return (await as.ok(as.post('/v1/sources', sourceBody(hubId, engine)))).sourceId;
}

export interface Execution {
  hubId: string;
  sourceId: string;
  query: string;
  context?: object | undefined;
  command?: string;
}

/** Stores a query, runs it once, and gives the answer's body, which must be a success. */
export async function execute({ hubId, sourceId, query, context, command }: Execution): Promise<any> {
  const label = `once ${randomBytes(4).toString('hex')}`;
  const stored = await api.ok(
    api.post('/v1/queries', { hubId, sourceId, label, query, ...(command === undefined ? {} : { command }) }),
  );
  const { queryId } = stored.config.query;
  return api.ok(api.post('/v1/queries/execute', { queryId, ...(context === undefined ? {} : { context }) }));
}

/** Creates one resource of each kind, and adds its id under the name of the parameter or member that accepts it. */
export async function makeResources(ids: Record<string, string>, key?: CallOptions, as = api): Promise<void> {
  const post = (path: string, body: object) => as.ok(as.post(path, body, key));
  const { hubId } = await post('/v1/hubs', { label: 'mine' });
  ids.hubId = hubId;
  ids.nodeId = (await post(`/v1/hubs/${hubId}/folders`, { label: 'mine' })).nodeId;
  ids.sourceId = (await post('/v1/sources', sourceBody(hubId))).sourceId;
  const query = { hubId, sourceId: ids.sourceId, label: 'mine', query: 'SELECT 1 AS one' };
  ids.queryId = (await post('/v1/queries', query)).config.query.queryId;
  ids.classifierId = (await post('/v1/classifiers', { name: 'mine' })).id;
  ids.classId = (
    await post(`/v1/classifiers/${ids.classifierId}/train`, { label: 'l', context: 'c' })
  ).classId;
  // The id of every row is missing, so nothing is trained.
  const columns = { text: 'one', label: 'one', id: 'none' };
  const job = { queryId: ids.queryId, ...columns };
  ids.jobId = (await post(`/v1/classifiers/${ids.classifierId}/train`, job)).jobId;
  [{ exampleId: ids.exampleId }] = await as.ok(as.get(`/v1/classifiers/${ids.classifierId}/examples`, key));
  ids.keyId = (await post('/v1/keys', { name: 'mine' })).keyId;
  ids.clientId = (await post('/v1/clients', clientBody)).clientId;
  ids.grantId = (await post('/v1/grants', grantBody(ids))).grantId;
  // Nothing listens there.
  const destination = { label: 'mine', url: 'http://127.0.0.1:9/', hubIds: [hubId] };
  ids.destinationId = (await post('/v1/destinations', destination)).destinationId;
  ids.deliveryId = (await post(`/v1/destinations/${ids.destinationId}/test`, {})).deliveryId;
  ids.boardId = (await post('/v1/boards', boardBody(ids))).boardId;
  ids.watchId = (await post('/v1/watches', watchBody(ids))).watchId;
  ids.runId = (await post(`/v1/watches/${ids.watchId}/run`, {})).runId;
  await waitForRun(ids, key, as);
}

const grantBody = ({ hubId }: Record<string, string>) => ({
  who: { group: 'mine' },
  role: 'viewer',
  hubIds: [hubId],
});

const clientBody = { name: 'x', redirectUris: ['https://agent.example/callback'] };

const boardBody = ({ hubId, queryId }: Record<string, string>) => ({
  hubId,
  label: 'mine',
  cards: [{ queryId }],
});

/** It runs only when it is asked to. */
const watchBody = ({ hubId, queryId }: Record<string, string>) => ({
  hubId,
  queryId,
  label: 'mine',
  when: 'always',
  include: ['one'],
  schedule: { cron: '0 0 1 1 *', timeZone: 'UTC' },
});

async function waitForRun(
  { watchId, runId }: Record<string, string>,
  key?: CallOptions,
  as = api,
): Promise<void> {
  while ((await as.get(`/v1/watches/${watchId}/runs/${runId}`, key)).status === 404) await wait(50);
}

/** What is sent to a route, whose body may be a stream of records. */
export const sentTo = (url: string, body: object | undefined): CallOptions =>
  url.endsWith('/rows') ? { raw: '{}\n', headers: { 'content-type': 'application/x-ndjson' } } : { body };

/** Returns a body that passes all checks except ownership. Undefined for a route without one. */
export function bodyFor(url: string, ids: Record<string, string>): object | undefined {
  if (url === '/v1/hubs/:hubId' || url.endsWith('/folders')) return { label: 'x' };
  if (url === '/v1/folders/:nodeId' || url === '/v1/sources/:sourceId') return { label: 'x' };
  if (url === '/v1/sources') return { ...sourceBody(ids.hubId as string) };
  if (url === '/v1/queries')
    return { hubId: ids.hubId, sourceId: ids.sourceId, label: 'x', query: 'SELECT 1' };
  if (url === '/v1/queries/check' || url === '/v1/queries/try')
    return { sourceId: ids.sourceId, query: 'SELECT 1' };
  if (url === '/v1/queries/execute') return { queryId: ids.queryId };
  if (url === '/v1/queries/data') return { executions: [{ queryId: ids.queryId }] };
  if (url === '/v1/queries/transaction') return { steps: [{ queryId: ids.queryId }] };
  if (url === '/v1/queries/:queryId') return { meta: { label: 'x' } };
  if (url === '/v1/boards') return boardBody(ids);
  if (url === '/v1/boards/:boardId') return { label: 'x', cards: [] };
  if (url === '/v1/watches' || url === '/v1/watches/try') return watchBody(ids);
  if (url === '/v1/watches/:watchId') {
    const { hubId: _, ...body } = watchBody(ids);
    return body;
  }
  if (url === '/v1/destinations' || url === '/v1/destinations/:destinationId')
    return { label: 'x', url: 'https://example.com/', hubIds: [ids.hubId] };
  if (url === '/v1/grants') return grantBody(ids);
  if (url === '/v1/clients') return clientBody;
  if (url === '/v1/people/:personId') return { disabled: true };
  if (url.endsWith('/restore')) return { version: 1 };
  if (url.endsWith('/summarize')) return { queryId: ids.queryId, text: 'one' };
  if (url === '/v1/classifiers/:classifierId' || url === '/v1/keys/:keyId') return { name: 'x' };
  if (url.endsWith('/:exampleId')) return { label: 'x' };
  if (url.endsWith('/train')) return { label: 'l', context: 'c' };
  if (url.endsWith('/predict')) return { context: 'c' };
  return undefined;
}
