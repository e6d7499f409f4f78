/**
 * `node tools/trace-picture.ts`: runs one execution through the four processes with tracing on, and draws the spans as
 * docs/images/trace.svg.
 */

import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startDistributed } from '../services/hub/src/distributed.ts';
import { createApi } from '../tests/support/api.ts';
import { type CollectedSpan, startCollector } from '../tests/support/collector.ts';
import { accessOf } from '../tests/support/databases.ts';
import { startDatabases } from './databases.ts';

const path = fileURLToPath(new URL('../docs/images/trace.svg', import.meta.url));
const say = (line: string) => process.stdout.write(`· ${line}\n`);

async function trace(databaseUrl: string): Promise<CollectedSpan[]> {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-trace-'));
  const collector = await startCollector();
  const key = `trace-key-${randomBytes(24).toString('hex')}`;
  const hub = await startDistributed({
    PORT: '0',
    DATAHUB_METRICS_PORT: '0',
    DATAHUB_DATA_DIR: dir,
    DATAHUB_API_KEY: key,
    DATAHUB_LOG_LEVEL: 'fatal',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  });
  const api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'trace' }));
  const connectionSettings = accessOf(databaseUrl);
  const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
  const { sourceId } = await api.ok(api.post('/v1/sources', source));
  const query = "SELECT n, repeat('x', 20) AS text FROM generate_series(1, 20000) n ORDER BY n DESC";
  const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query }));
  const { queryId } = stored.config.query;
  for (let i = 0; i < 5; i++) await api.post('/v1/queries/execute', { queryId });
  // Cached definitions are invalidated, so that the trace includes the catalog.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const traceId = randomBytes(16).toString('hex');
  const headers = { traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01` };
  await api.ok(api.post('/v1/queries/execute', { queryId }, { headers }));
  await hub.close();
  collector.close();
  await rm(dir, { recursive: true });
  return collector.spans.filter((span) => span.traceId === traceId);
}

const colours = ['#2f6fdb', '#1f9d6b', '#b5622b', '#8a54c7'];
const [width, left, rowHeight] = [860, 330, 34];

function draw(spans: CollectedSpan[]): string {
  const sorted = [...spans].sort((a, b) => a.startMs - b.startMs || b.endMs - a.endMs);
  const from = Math.min(...spans.map(({ startMs }) => startMs));
  const totalMs = Math.max(...spans.map(({ endMs }) => endMs)) - from;
  const services = [...new Set(sorted.map(({ service }) => service))];
  const depthOf = (span: CollectedSpan): number => {
    const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
    return parent === undefined ? 0 : depthOf(parent) + 1;
  };
  const scale = (ms: number) => (ms / totalMs) * (width - left - 90);
  const rows = sorted.map((span, i) => {
    const y = 50 + i * rowHeight;
    const colour = colours[services.indexOf(span.service) % colours.length];
    const x = left + scale(span.startMs - from);
    const length = Math.max(2, scale(span.endMs - span.startMs));
    const name = span.name.replace('datahub.catalog.v1.', '');
    return [
      `<text x="${12 + depthOf(span) * 16}" y="${y + 15}">${name}</text>`,
      `<rect x="${x.toFixed(1)}" y="${y}" width="${length.toFixed(1)}" height="22" rx="3" fill="${colour}"/>`,
      `<text x="${(x + length + 6).toFixed(1)}" y="${y + 15}">${(span.endMs - span.startMs).toFixed(1)} ms</text>`,
    ].join('');
  });
  const legend = services.map(
    (service, i) =>
      `<rect x="${12 + i * 170}" y="14" width="12" height="12" rx="2" fill="${colours[i % colours.length]}"/><text x="${30 + i * 170}" y="24">${service}</text>`,
  );
  const height = 60 + sorted.length * rowHeight;
  const style =
    'text{font:13px system-ui,sans-serif;fill:#222}@media(prefers-color-scheme:dark){text{fill:#ddd}}';
  const title = 'One execution of 20,000 rows through four processes';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}"><title>${title}</title><style>${style}</style>${legend.join('')}${rows.join('')}</svg>\n`;
}

const databases = process.env.POSTGRES_URL ? undefined : await startDatabases({ say });
const url = process.env.POSTGRES_URL ?? databases?.env.POSTGRES_URL;
if (url === undefined) {
  say('tracing needs a PostgreSQL: set POSTGRES_URL.');
  process.exitCode = 1;
} else {
  const spans = await trace(url);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, draw(spans));
  say(`${path}: ${spans.length} spans`);
}
await databases?.close();
