import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { type Collector, startCollector } from '../support/collector.ts';
import { accessOf } from '../support/databases.ts';
import { hubSettings } from '../support/spawned.ts';

const { POSTGRES_URL } = process.env;

describe.skipIf(!POSTGRES_URL)('traces (needs POSTGRES_URL)', () => {
  let dir: string;
  let hub: DistributedHub;
  let collector: Collector;
  let api: Api;
  let hubId: string;
  let sourceId: string;
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  const connection = () => accessOf(POSTGRES_URL as string);

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-traces-'));
    collector = await startCollector();
    hub = await startDistributed({
      ...hubSettings(dir, key),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '200',
    });
    api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
    hubId = (await api.ok(api.post('/v1/hubs', { label: 'traces' }))).hubId;
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings: connection() };
    sourceId = (await api.ok(api.post('/v1/sources', source))).sourceId;
  });

  afterAll(async () => {
    await hub?.close();
    collector?.close();
    await rm(dir, { recursive: true, force: true });
  });

  const store = async (query: string, source = sourceId) =>
    (
      await api.ok(
        api.post('/v1/queries', { hubId, sourceId: source, label: randomBytes(4).toString('hex'), query }),
      )
    ).config.query.queryId;
  const traceIdOf = () => randomBytes(16).toString('hex');
  const run = async (queryId: string, traceId: string, context = {}, flags = '01') =>
    api.post(
      '/v1/queries/execute',
      { queryId, context },
      { headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-${flags}` } },
    );
  const spansOf = (traceId: string, count: number) =>
    vi.waitFor(
      () => {
        const spans = collector.spans.filter((span) => span.traceId === traceId);
        expect(spans.length).toBeGreaterThanOrEqual(count);
        return Object.fromEntries(spans.map((span) => [span.name, span]));
      },
      { timeout: 60_000, interval: 100 },
    );

  it('show one execution through gateway, executor, catalog and database', async () => {
    const queryId = await store('SELECT n FROM generate_series(1, 3) n');
    // The definition that was held for its description is let go, so that the catalog is asked again.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const traceId = traceIdOf();
    expect((await run(queryId, traceId)).status).toBe(200);
    const spans = await spansOf(traceId, 5);
    const request = spans['POST /v1/queries/execute'];
    const execute = spans.execute;
    expect(request).toMatchObject({
      service: 'data-hub-gateway',
      parentSpanId: '00f067aa0ba902b7',
      attributes: { 'http.request.method': 'POST', 'http.route': '/v1/queries/execute' },
      failed: false,
    });
    expect(execute).toMatchObject({ service: 'data-hub-executor', parentSpanId: request?.spanId });
    expect(spans['datahub.catalog.v1.CatalogInternalService/ResolveQuery']).toMatchObject({
      service: 'data-hub-catalog',
      parentSpanId: execute?.spanId,
    });
    expect(spans['wait for a connection']).toMatchObject({ parentSpanId: execute?.spanId });
    expect(spans.SELECT).toMatchObject({
      parentSpanId: execute?.spanId,
      attributes: {
        'db.system.name': 'postgresql',
        'db.operation.name': 'SELECT',
        'datahub.query.id': queryId,
      },
    });
    for (const span of Object.values(spans)) {
      expect(span.startMs).toBeGreaterThanOrEqual((request?.startMs as number) - 5);
      expect(span.endMs).toBeLessThanOrEqual((request?.endMs as number) + 5);
    }
  });

  it('say where it failed, with the database’s code', async () => {
    const traceId = traceIdOf();
    await run(await store('SELECT 1 / :by'), traceId, { by: 0 });
    const { SELECT: database, execute } = await spansOf(traceId, 4);
    expect(database).toMatchObject({
      failed: true,
      attributes: { 'db.response.status_code': '22012', 'error.type': 'SQL_REJECTED' },
    });
    expect(execute).toMatchObject({ failed: true });
  });

  it('begin at the gateway if the caller has none, and are not sampled if the caller does not sample', async () => {
    const queryId = await store('SELECT 1 AS own');
    const before = collector.spans.length;
    expect((await api.post('/v1/queries/execute', { queryId })).status).toBe(200);
    await vi.waitFor(() => expect(collector.spans.length).toBeGreaterThan(before), { timeout: 60_000 });
    const unsampled = traceIdOf();
    expect((await run(queryId, unsampled, {}, '00')).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(collector.spans.filter(({ traceId }) => traceId === unsampled)).toEqual([]);
  });

  it('hold no value, no text, no host and no password', async () => {
    const settings = { ...connection(), user: 'canary-user', password: 'canary-password' };
    const source = { hubId, label: 'wrong', engine: 'postgres', connectionSettings: settings };
    const wrong = (await api.ok(api.post('/v1/sources', source))).sourceId;
    const traceId = traceIdOf();
    await run(await store("SELECT 'canary-text'", wrong), traceId, { canary: 'canary-value' });
    await spansOf(traceId, 2);
    expect(collector.texts.join('')).not.toContain('canary');
    expect(collector.texts.join('')).not.toContain(connection().host);
  });
});
