/**
 * The memory of sources that an executor holds: with an idle connection, and without one after its idle timeout. Heap and
 * buffers after a full GC, in one process.
 *
 *     npm run bench -- scale/held-sources
 */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openHub } from '../../services/hub/src/compose.ts';
import { median } from '../support/table.ts';

const databaseUrl = process.env.POSTGRES_URL;
if (databaseUrl === undefined) throw new Error('POSTGRES_URL is not set.');
const sources = Number(process.env.BENCH_SOURCES ?? 50);
const idleTimeoutMs = 1_000;
const restMs = 3_000;

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');
const key = `bench-key-${randomBytes(16).toString('hex')}`;
const dataDir = mkdtempSync(join(tmpdir(), 'datahub-held-'));
const hub = await openHub({
  PORT: '0',
  DATAHUB_API_KEY: key,
  DATAHUB_DATA_DIR: dataDir,
  DATAHUB_LOG_LEVEL: 'silent',
});
const headers = { 'x-service-api-key': key, 'content-type': 'application/json' };

async function post(path: string, body: object): Promise<any> {
  const response = await fetch(hub.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer;
}

/** In kB. */
function memory(): number {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1_000;
}

const { hostname, port, username, password, pathname } = new URL(databaseUrl);
const { hubId } = await post('/v1/hubs', { label: 'held' });

async function createQuery(idleMs: number): Promise<string> {
  const connectionSettings = {
    host: hostname,
    port: Number(port),
    user: username,
    password: decodeURIComponent(password),
    database: pathname.slice(1),
    pool: { idleTimeoutMs: idleMs },
  };
  const { sourceId } = await post('/v1/sources', {
    hubId,
    label: 'held',
    engine: 'postgres',
    connectionSettings,
  });
  const query = 'SELECT id, name FROM (VALUES (1, :name)) AS one (id, name)';
  const stored = await post('/v1/queries', { hubId, sourceId, label: 'held', query });
  return stored.config.query.queryId;
}

async function measure(idleMs: number): Promise<number> {
  const ids: string[] = [];
  for (let i = 0; i < sources; i++) ids.push(await createQuery(idleMs));
  await sleep(restMs);
  const before = memory();
  for (const queryId of ids) await post('/v1/queries/execute', { queryId, context: { name: 'a' } });
  await sleep(restMs);
  return (memory() - before) / sources;
}

// The first sources load code. Other memory of the process grows and shrinks meanwhile, so each is measured three times.
await measure(idleTimeoutMs);
const without: number[] = [];
const idle: number[] = [];
for (let i = 0; i < 3; i++) {
  without.push(await measure(idleTimeoutMs));
  idle.push(await measure(60_000));
}
const list = (values: number[]) => `${median(values).toFixed(0)} kB (${values.map(Math.round).join(', ')})`;
process.stdout.write(
  `${sources} sources with a query each, PostgreSQL: ${list(idle)} each with an idle connection, ${list(without)} without\n`,
);
await hub.close();
rmSync(dataDir, { recursive: true });
