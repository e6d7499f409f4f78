import { randomBytes } from 'node:crypto';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDistributed } from '../../services/hub/src/distributed.ts';
import { createApi } from '../support/api.ts';
import { createTestDatabases, type DatabaseAccess, type TestDatabases } from '../support/databases.ts';
import { watch } from '../support/watcher.ts';

const key = `test-key-${randomBytes(24).toString('hex')}`;

describe.skipIf(process.env.POSTGRES_URL === undefined)('a stop', () => {
  let databases: TestDatabases;
  let dir: string;
  beforeAll(async () => {
    databases = await createTestDatabases(process.env);
    dir = await mkdtemp(join(tmpdir(), 'datahub-stopping-'));
  });
  afterAll(async () => {
    await databases.close();
    await rm(dir, { recursive: true });
  });

  /**
   * A hub is stopped while one statement waits for a lock, which it gets after `heldMs`, if at all; what its services
   * said of it, by service, and the answer.
   */
  const stopDuring = async (drainMs: number, heldMs?: number) => {
    const access = databases.access.postgres as DatabaseAccess;
    const holder = new pg.Client(access);
    await holder.connect();
    await holder.query('SELECT pg_advisory_lock(1)');
    const watcher = await watch('postgres', access);
    const log = join(dir, `log-${drainMs}`);
    const file = await open(log, 'w');
    const env = {
      PORT: '0',
      DATAHUB_METRICS_PORT: '0',
      DATAHUB_DATA_DIR: join(dir, 'data'),
      DATAHUB_API_KEY: key,
      DATAHUB_EDGE: 'none',
      DATAHUB_LOG_FORMAT: 'json',
      DATAHUB_DRAIN_MS: String(drainMs),
    };
    const hub = await startDistributed(env, file.fd);
    const api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'stopping' }));
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings: access };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    const query = {
      hubId,
      sourceId,
      label: 'q',
      query: `SELECT /* stopping ${drainMs} */ pg_advisory_lock(1)`,
    };
    const { queryId } = (await api.ok(api.post('/v1/queries', query))).config.query;
    const answering = api.post('/v1/queries/execute', { queryId }).then(
      ({ status }) => status,
      () => 'cut',
    );
    await expect.poll(() => watcher.running(`stopping ${drainMs}`)).toBe(1);
    const closing = hub.close();
    if (heldMs !== undefined) {
      await expect
        .poll(() => readFile(log, 'utf8'), { timeout: 60_000 })
        .toMatch(/gateway.*service\.stopping|service\.stopping.*gateway/);
      await sleep(heldMs);
      await holder.query('SELECT pg_advisory_unlock(1)');
    }
    await closing;
    await holder.end();
    await watcher.close();
    await file.close();
    const lines = (await readFile(log, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const told = (service: string) =>
      lines.filter((line) => line.service === service && /^service\.stopp/.test(line.event));
    return { told, answer: await answering };
  };

  it('is told by each service once when it begins, with what is awaited, and when it has ended', async () => {
    const { told, answer } = await stopDuring(120_000, 700);
    expect(answer).toBe(200);
    const all = ['gateway', 'catalog', 'executor', 'ml'].map((service) => [service, told(service)] as const);
    for (const [service, lines] of all) {
      expect(lines, service).toMatchObject([
        { event: 'service.stopping', reason: 'SIGTERM', awaited: service === 'gateway' ? 1 : 0 },
        { event: 'service.stopped', cut: 0, durationMs: expect.any(Number) },
      ]);
    }
    expect(told('gateway')[1].durationMs).toBeGreaterThan(500);
  });

  it('says how much was cut when its time was up', async () => {
    const { told, answer } = await stopDuring(300);
    expect(answer).toBe('cut');
    expect(told('gateway')).toMatchObject([{ awaited: 1 }, { event: 'service.stopped', cut: 1 }]);
  });
});
