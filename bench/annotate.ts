/**
 * A million short rows, classified as they stream: rows per second of CPU, memory, and the time until a cancelled
 * statement ends.
 */

import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { v8Flags } from '../packages/service-kit/v8-flags.mjs';
import { type Server, startServer } from './support/child.ts';
import { once } from './support/load.ts';

const count = Number(process.env.BENCH_ROWS ?? 1_000_000);
const forms = (process.env.BENCH_FORMS ?? 'single,distributed').split(',');
const path = fileURLToPath(new URL('support/hub.ts', import.meta.url));
const topics = ['parcel', 'refund', 'invoice', 'login', 'password', 'order', 'courier', 'discount'];
const verbs = ['is late', 'was charged twice', 'does not work', 'has not arrived', 'is wrong', 'was lost'];

async function setUp(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('DROP TABLE IF EXISTS bench_rows');
  await client.query(
    `CREATE TABLE bench_rows AS SELECT n AS id,
     'my ' || ($1::text[])[1 + n % 8] || ' ' || ($2::text[])[1 + n / 8 % 6] || ' since ' || n % 365 AS body
     FROM generate_series(1, ${count}) n`,
    [topics, verbs],
  );
  await client.end();
}

async function post(server: Server, path: string, body: object): Promise<any> {
  const url = new URL(path, server.url);
  const response = await fetch(url, { method: 'POST', headers: server.headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

async function trained(server: Server, examplesPerTopic: number): Promise<string> {
  const { id } = await post(server, '/v1/classifiers', {});
  const examples = topics.flatMap((label) =>
    Array.from({ length: examplesPerTopic }, (_, i) => ({
      label,
      context: `my ${label} ${verbs[i % verbs.length]} since ${i}`,
    })),
  );
  await post(server, `/v1/classifiers/${id}/train`, { examples });
  return id;
}

async function measure(server: Server, body: string) {
  const cpuBefore = await server.cpu();
  const before = await server.memory();
  let most = before;
  const watch = setInterval(async () => {
    most = Math.max(most, await server.memory());
  }, 50);
  const { ms } = await once({ ...server, body });
  clearInterval(watch);
  const cpuSeconds = ((await server.cpu()) - cpuBefore) / 1e6;
  return { seconds: ms / 1_000, cpuSeconds, grown: most - before };
}

/** Measures how long the statement keeps running at the database after its client disconnected. */
async function cancelMs(server: Server, { body, url }: { body: string; url: string }): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const leave = new AbortController();
  const { headers } = server;
  const response = await fetch(server.url, { method: 'POST', headers, body, signal: leave.signal });
  await response.body?.getReader().read();
  leave.abort();
  const leftAt = performance.now();
  const running = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%bench_rows%' AND pid <> pg_backend_pid()`;
  while ((await client.query(running)).rows[0].n > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await client.end();
  return performance.now() - leftAt;
}

const url = process.env.POSTGRES_URL;
if (url === undefined) process.stdout.write('annotate: skipped, because POSTGRES_URL is not set.\n');
else {
  await setUp(url);
  for (const form of forms) {
    const server = await startServer(path, ['postgres', url, 'large', form], v8Flags);
    for (const examples of [20, 500]) {
      const classifier = await trained(server, examples);
      const annotate = [{ classifier, text: 'body', as: 'topic' }];
      const body = JSON.stringify({ ...JSON.parse(server.body), options: { annotate } });
      const warm = { ...JSON.parse(body), options: { annotate, maxRows: 100_000 } };
      await once({ ...server, body: JSON.stringify(warm) });
      const { seconds, cpuSeconds, grown } = await measure(server, body);
      const cancelled = await cancelMs(server, { body, url });
      process.stdout.write(
        `${form}, ${8 * examples} examples: ${Math.round(count / cpuSeconds)} rows for a second of CPU, ${Math.round(count / seconds)} rows/s, memory + ${grown.toFixed(0)} MiB, cancelled in ${cancelled.toFixed(0)} ms\n`,
      );
    }
    await server.stop();
  }
}
