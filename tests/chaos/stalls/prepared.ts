/** A hub whose stored definitions are as large as they may be, and some larger ones that an earlier release accepted. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@datahub/service-kit/process/free-port';
import { openCatalogStore } from '../../../services/catalog/src/store.ts';
import { accessOf } from '../../support/databases.ts';
import { scaled } from '../../support/scale.ts';
import { type SpawnedHub, spawnHub } from '../../support/spawned.ts';
import { mostValues, payloads } from './payloads.ts';

interface Looked {
  longestMs: number;
  mostBytes: number;
}

export interface Prepared {
  hub: SpawnedHub;
  /** Resets and returns what the main thread did. */
  look(): Promise<Looked>;
  /** By the names of the parameters of paths. The query takes a value of any JSON as `:a`. */
  ids: Record<string, string>;
  connectionSettings: object;
  /** By what they store: the hub, its source, and its queries. */
  stored: Record<keyof typeof definitions, { hubId: string; sourceId: string; queryIds: string[] }>;
  close(): Promise<void>;
}

/** The defaults of stored queries. */
export const definitions = {
  most: mostValues,
  long: payloads.long,
  objects: payloads.objects,
  deep: payloads.deep,
  decimals: payloads.decimals,
};
/** Those with more values than a request may store. */
export const isOlder = (name: string): boolean => ['objects', 'deep', 'decimals'].includes(name);
/** Their lists are about as large as a list may be. */
const queriesOfHub = scaled(8, 24);
const text = 'SELECT CAST(:a AS json) AS v';

/** `nodeOptions`: for the hub, beside those that watch it. */
export async function prepare(nodeOptions = ''): Promise<Prepared> {
  const dataDir = await mkdtemp(join(tmpdir(), 'datahub-stalls-'));
  const settings = {
    DATAHUB_DATA_DIR: dataDir,
    DATAHUB_API_KEY: 'a-key-of-the-stalls-0123456789-0123456789',
  };
  const first = await spawnHub(settings);
  const created = await create(first);
  await first.close();
  await enlarge(dataDir);
  const port = await freePort();
  const watching = fileURLToPath(new URL('./watch-turns.mjs', import.meta.url));
  const hub = await spawnHub({
    ...settings,
    WATCH_TURNS_PORT: String(port),
    NODE_OPTIONS: `--import=${watching} ${nodeOptions}`,
  });
  return {
    ...created,
    hub,
    look: async () => (await (await fetch(`http://127.0.0.1:${port}`)).json()) as Looked,
    close: async () => {
      await hub.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function create({ api }: SpawnedHub) {
  const connectionSettings = accessOf(process.env.POSTGRES_URL as string);
  const createHub = async (label: string) => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label }));
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    return { hubId, sourceId };
  };
  const createQuery = async (body: object, value?: string): Promise<string> => {
    const raw = JSON.stringify({
      label: 'q',
      query: text,
      context: [{ key: 'a', type: 'json', value: 'V' }],
      ...body,
    });
    const { config } = await api.ok(
      api.post('/v1/queries', undefined, { raw: raw.replace('"V"', () => value ?? 'null') }),
    );
    return config.query.queryId;
  };
  const stored = {} as Prepared['stored'];
  for (const name of Object.keys(definitions) as (keyof typeof definitions)[]) {
    const { hubId, sourceId } = await createHub(name);
    const queryIds: string[] = [];
    for (let i = 0; i < queriesOfHub; i++) {
      const value = isOlder(name) ? undefined : `[${definitions[name]()}]`;
      const tool = i === 0 ? { tool: { description: name } } : {};
      queryIds.push(await createQuery({ hubId, sourceId, path: `${name}/${i}`, ...tool }, value));
    }
    stored[name] = { hubId, sourceId, queryIds };
  }
  const { hubId, sourceId } = await createHub('small');
  const queryId = await createQuery({ hubId, sourceId });
  const { id: classifierId } = await api.ok(api.post('/v1/classifiers', { name: 'c' }));
  for (const label of ['a', 'b'])
    await api.ok(api.post(`/v1/classifiers/${classifierId}/train`, { label, context: `Words of ${label}.` }));
  const { keyId } = await api.ok(api.post('/v1/keys', { name: 'k' }));
  const { nodeId } = await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: 'f' }));
  return { ids: { hubId, sourceId, queryId, classifierId, keyId, nodeId }, connectionSettings, stored };
}

/** Stores what no request may store. */
async function enlarge(dataDir: string): Promise<void> {
  const { queries, hubs, close } = await openCatalogStore(`sqlite:${join(dataDir, 'catalog.db')}`);
  for (const hub of await hubs.scan({ limit: 100 })) {
    if (!isOlder(hub.label)) continue;
    const valueJson = `[${definitions[hub.label as keyof typeof definitions]()}]`;
    const { id: hubId, accountId } = hub;
    for (const query of await queries.find({ accountId, where: { hubId }, limit: 100 }))
      await queries.replace({
        ...query,
        version: query.version + 1,
        context: query.context.map((variable) => ({ ...variable, valueJson })),
      });
  }
  await close();
}
