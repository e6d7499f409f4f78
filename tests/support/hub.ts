/** The hub that this project's tests drive, and short ways to what most of them need. */

import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { type Answer, createApi } from './api.ts';
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

export async function createSource(hubId: string, engine?: string): Promise<string> {
  return (await api.ok(api.post('/v1/sources', sourceBody(hubId, engine)))).sourceId;
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
