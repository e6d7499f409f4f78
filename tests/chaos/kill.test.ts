import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, createApi } from '../support/api.ts';

const start = fileURLToPath(new URL('../../services/hub/src/main.ts', import.meta.url));
const key = 'chaos-key-0123456789-0123456789-0123456789';
const rounds = 3;
/** In each round, however slow the machine is. */
const writesMin = 35;
const writers = 16;

describe('a hub that is killed while it writes', () => {
  let dataDir: string;
  let port: number;
  let api: Api;
  let hub: ChildProcess;

  const run = async () => {
    hub = spawn(process.execPath, [start], {
      stdio: 'ignore',
      env: {
        ...process.env,
        PORT: String(port),
        DATAHUB_METRICS_PORT: '0',
        DATAHUB_DATA_DIR: dataDir,
        DATAHUB_API_KEY: key,
        DATAHUB_DEMO: '0',
        DATAHUB_LOG_LEVEL: 'fatal',
      },
    });
    const ready = () =>
      api.get('/readyz').then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(ready, { timeout: 60_000, interval: 20 }).toBe(200);
  };

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'datahub-chaos-'));
    port = await freePort();
    api = createApi({ url: `http://127.0.0.1:${port}`, key });
  });

  afterAll(async () => {
    hub.kill('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  });

  /** Three changes of a new query at once. */
  async function changeQuery(own: { hubId: string; queryId?: string; labels: string[] }): Promise<void> {
    const { hubId } = own;
    const connectionSettings = { host: '127.0.0.1', port: 1, database: 'd', user: 'u', password: 'p' };
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    const body = { hubId, sourceId, label: 'made', query: 'SELECT 1' };
    own.queryId = (await api.ok(api.post('/v1/queries', body))).config.query.queryId;
    own.labels.push('made');
    const change = async (label: string) => {
      await api.ok(api.put(`/v1/queries/${own.queryId}`, { meta: { label } }));
      own.labels.push(label);
    };
    await Promise.all(['one', 'two', 'three'].map(change));
  }

  it('has everything that it acknowledged, and nothing half', async () => {
    const acknowledged: { hubId: string; folders: string[]; queryId?: string; labels: string[] }[] = [];
    let trained = 0;
    await run();
    const classifier = (await api.ok(api.post('/v1/classifiers', { name: 'c' }))).id;
    for (let round = 0; round < rounds; round++) {
      if (round > 0) await run();
      const stop = new AbortController();
      const write = async () => {
        while (!stop.signal.aborted) {
          const hubDoc = await api.ok(api.post('/v1/hubs', { label: 'h' }));
          const own: (typeof acknowledged)[number] = { hubId: hubDoc.hubId, folders: [], labels: [] };
          acknowledged.push(own);
          own.folders.push((await api.ok(api.post(`/v1/hubs/${own.hubId}/folders`, { label: 'f' }))).nodeId);
          await changeQuery(own);
          await api.ok(api.post(`/v1/classifiers/${classifier}/train`, { label: 'l', context: 'some text' }));
          trained++;
        }
      };
      const writing = Promise.allSettled(Array.from({ length: writers }, write));
      const enough = acknowledged.length + writesMin;
      await sleep(300 + 200 * round);
      while (acknowledged.length < enough) await sleep(10);
      hub.kill('SIGKILL');
      await once(hub, 'close');
      stop.abort();
      await writing;
    }
    await run();
    expect(acknowledged.length).toBeGreaterThanOrEqual(rounds * writesMin);
    for (const { hubId, folders } of acknowledged) {
      const tree = await api.ok(api.get(`/v1/hubs/${hubId}/contents`));
      expect(tree.children.map(({ nodeSubType }: { nodeSubType: string }) => nodeSubType)).toEqual([
        'queries',
        'sources',
      ]);
      const nodes = tree.children[0].children.map(({ nodeId }: { nodeId: string }) => nodeId);
      expect(nodes).toEqual(expect.arrayContaining(folders));
    }
    for (const { queryId, labels } of acknowledged) {
      if (queryId === undefined) continue;
      const versions = await api.ok(api.get(`/v1/queries/${queryId}/versions`));
      const numbers = versions.map(({ number }: { number: number }) => number);
      expect(numbers).toEqual(Array.from(numbers, (_, i) => numbers.length - i));
      const kept = versions.map(({ label }: { label: string }) => label);
      expect(new Set(kept).size).toBe(kept.length);
      expect(kept).toEqual(expect.arrayContaining(labels));
    }
    const { classes } = await api.ok(api.get(`/v1/classifiers/${classifier}`));
    // What was under way when the hub died may have been kept too, but never twice.
    expect(classes[0].observations).toBeGreaterThanOrEqual(trained);
    expect(classes[0].observations).toBeLessThanOrEqual(trained + rounds * writers);
  });
});
