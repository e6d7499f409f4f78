/**
 * What a year of audit and counts of uses takes on SQLite: 500 keys that each execute 20 queries in every hour, and 200
 * changes a day. Measures the file, a start, the pages that read it, and writes beside the sweep of a day.
 *
 *     npm run bench -- scale/usage
 *
 * BENCH_DAYS is the number of days.
 */

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep, setImmediate as turnEnd } from 'node:timers/promises';
import { checkStatement } from '@datahub/catalog/check-statement';
import { readCatalogConfig } from '@datahub/catalog/config';
import type { AuditDoc } from '@datahub/catalog/documents';
import { joinUses, removeExpired } from '@datahub/catalog/maintenance/expiry-sweep';
import { openCatalog } from '@datahub/catalog/service';
import { type CatalogStore, openCatalogStore } from '@datahub/catalog/store';
import { dayMs, dayOf, hourlyUse, hourMs } from '@datahub/catalog/usage/use-counts';
import { generateKeyPair } from '@datahub/sealing/key-pair';
import { createSealer } from '@datahub/sealing/sealer';
import { createCallContext } from '@datahub/service-kit/call/call';
import { createIdFactory } from '@datahub/service-kit/id';
import { readSettings } from '@datahub/service-kit/settings/settings';
import { createLogger } from '@datahub/service-kit/telemetry/logger';
import { median } from '../support/table.ts';
import { known, load } from './documents.ts';

const days = Number(process.env.BENCH_DAYS ?? 365);
const keys = 500;
const queries = 20;
const changesPerDay = 200;
const today = dayOf(Date.now());
const { accountId, queryId } = known(0);
const say = (line: string) => process.stdout.write(`${line}\n`);
const createId = createIdFactory({ namespace: 'dh' });
const keyOf = (i: number) => `dh.key.${String(i).padStart(30, '0')}`;
const queryOf = (i: number) => (i === 0 ? queryId : `dh.q.u${String(i).padStart(29, '0')}`);

function* entriesOf(day: number): Generator<AuditDoc> {
  const isInHours = day >= today - 3 * dayMs;
  for (let hour = 0; hour < (isInHours ? 24 : 1); hour++)
    for (let i = 0; i < keys * queries; i++) {
      const at = day + hour * hourMs;
      const use = { keyId: keyOf(Math.floor(i / queries)), resourceId: queryOf(i % queries) };
      const counted = { accountId, action: 'query.execute', requestId: '', count: 100, failed: 1 };
      const entry = hourlyUse({ namespace: 'dh', nowMs: () => at }, { ...counted, ...use });
      const { joinsAt, ...whole } = entry;
      yield isInHours ? entry : { ...whole, hours: 2 ** 24 - 1 };
    }
  for (let i = 0; i < changesPerDay; i++) {
    const at = day + i * 60_000;
    const what = { keyId: keyOf(0), action: 'query.update', resourceId: queryOf(i % queries) };
    yield {
      id: createId('evt', at),
      accountId,
      version: 1,
      at,
      ...what,
      requestId: createId('evt', at),
      count: 1,
      failed: 0,
    };
  }
}

async function fill(store: CatalogStore): Promise<number> {
  let written = 0;
  for (let day = today - days * dayMs; day < today; day += dayMs) {
    let batch: AuditDoc[] = [];
    for (const entry of entriesOf(day)) {
      batch.push(entry);
      if (batch.length < 2_000) continue;
      await store.audit.insertMany(batch);
      written += batch.length;
      batch = [];
    }
    await store.audit.insertMany(batch);
    written += batch.length;
  }
  return written;
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

async function open(dataDir: string) {
  const env = { DATAHUB_DATA_DIR: dataDir, DATAHUB_AUDIT_DAYS: '1000', DATAHUB_USAGE_DAYS: '1000' };
  const logger = createLogger({ service: 'scale', level: 'silent', pretty: false });
  const seal = await createSealer([(await generateKeyPair()).publicKey]);
  return openCatalog(readSettings(env, readCatalogConfig), { logger, nowMs: Date.now, seal, checkStatement });
}

async function measurePages(dataDir: string): Promise<void> {
  let catalog: Awaited<ReturnType<typeof open>> | undefined;
  const startMs = await timed(async () => {
    catalog = await open(dataDir);
  });
  if (catalog === undefined) return;
  const { calls } = catalog;
  say(`start: ${startMs.toFixed(0)} ms`);
  const principal = { accountId, keyId: 'bench', scopes: ['*'], limits: undefined };
  const ctx = () => createCallContext({ timeoutMs: 60_000, principal });
  const page = { offset: 0, limit: 100 };
  const reads: Record<string, () => Promise<unknown>> = {
    'the newest entries of the audit': async () => calls.listAudit({ page }, ctx()),
    'the newest of one query': async () => calls.listAudit({ page, resourceId: queryId }, ctx()),
    'usage of a query': async () => calls.getQueryUsage({ queryId }, ctx()),
    'usage of a key': async () => calls.getKeyUsage({ keyId: keyOf(0) }, ctx()),
  };
  for (const [name, read] of Object.entries(reads)) {
    const first = await timed(read);
    const times: number[] = [];
    for (let i = 0; i < 10; i++) times.push(await timed(read));
    say(`${name}: ${median(times).toFixed(1)} ms, the first time ${first.toFixed(1)} ms`);
  }
  await catalog.close();
}

/** Durable writes, one each 20 ms, until the work is done. */
async function writesBeside(store: CatalogStore, name: string, work: () => Promise<unknown>): Promise<void> {
  let done = false;
  let figures = '';
  const took = timed(work).finally(() => {
    done = true;
  });
  const times: number[] = [];
  while (!done) {
    const id = createId('hrt', Date.now());
    const doc = { id, accountId, version: 1, hubId: 'h', parentNodeId: 'h', nodeSubType: 'queries' as const };
    times.push(
      await timed(() =>
        store.folders.insert({ ...doc, label: 'x', deleting: 0, createdAt: 0, updatedAt: null }),
      ),
    );
    await sleep(20);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => (times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(1);
  figures = `p50 ${at(0.5)}, p99 ${at(0.99)}, the slowest ${at(1)} ms`;
  say(`${name}: ${((await took) / 1_000).toFixed(1)} s; ${times.length} writes beside it: ${figures}`);
}

const dataDir = mkdtempSync(join(tmpdir(), 'datahub-scale-'));
const path = join(dataDir, 'catalog.db');
try {
  const store = await openCatalogStore(`sqlite:${path}`);
  await load(store, 1);
  const startedAt = performance.now();
  const written = await fill(store);
  await store.close();
  const bytes = statSync(path).size;
  const seconds = (performance.now() - startedAt) / 1_000;
  say(
    `${written.toLocaleString('en')} entries of ${days} days: ${(bytes / 1e9).toFixed(2)} GB, ${(bytes / written).toFixed(0)} bytes each, written in ${seconds.toFixed(0)} s`,
  );
  await measurePages(dataDir);
  const again = await openCatalogStore(`sqlite:${path}`);
  const { signal } = new AbortController();
  await writesBeside(again, 'nothing', () => sleep(10_000));
  const sweep = { namespace: 'dh', runsKeptMs: dayMs, queryRunsKeptMs: dayMs, eventsKeptMs: dayMs };
  await writesBeside(again, 'joining 240,000 hours of a day', () =>
    joinUses(again, { ...sweep, nowMs: () => today }, signal),
  );
  const kept = { auditKeptMs: (days - 2) * dayMs, usageKeptMs: (days - 2) * dayMs };
  await writesBeside(again, 'removing a day', () =>
    removeExpired(again, { ...sweep, ...kept, nowMs: () => today }, signal),
  );
  await turnEnd();
  await again.close();
  say(`the file afterwards: ${(statSync(path).size / 1e9).toFixed(2)} GB`);
} finally {
  rmSync(dataDir, { recursive: true });
}
