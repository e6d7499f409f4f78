/**
 * Which operations of the catalog keep their cost as documents grow: each one with 1,020 documents and with many, on
 * SQLite and, if MONGODB_URL is set, on the wire protocol of MongoDB.
 *
 *     npm run bench -- scale/catalog
 *
 * SQLite is measured in time. The tests' MongoDB server is FerretDB, which reads whole collections, so its times say
 * nothing of MongoDB. There the commands and the bytes of their replies are counted: if both stay the same and an index
 * serves each filter, MongoDB's cost grows with the logarithm of the documents. BENCH_DOCUMENTS and
 * BENCH_MONGODB_DOCUMENTS are the larger numbers of documents.
 */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkStatement } from '@datahub/catalog/check-statement';
import { readCatalogConfig } from '@datahub/catalog/config';
import { openCatalog } from '@datahub/catalog/service';
import { openCatalogStore } from '@datahub/catalog/store';
import { generateKeyPair } from '@datahub/sealing/key-pair';
import { createSealer } from '@datahub/sealing/sealer';
import { readSettings } from '@datahub/service-kit/settings/settings';
import { createLogger } from '@datahub/service-kit/telemetry/logger';
import { MongoClient } from 'mongodb';
import { median } from '../support/table.ts';
import { documentsPerAccount, known, load, operations } from './documents.ts';
import { openWire, type Wire } from './wire.ts';

const sqliteDocuments = Number(process.env.BENCH_DOCUMENTS ?? 1_000_000);
const mongodbDocuments = Number(process.env.BENCH_MONGODB_DOCUMENTS ?? 5_000);
const smallAccounts = 10;
const calls = 200;
const say = (line: string) => process.stdout.write(`${line}\n`);
const inThousands = (count: number) => count.toLocaleString('en');

async function open(storeUrl: string, dataDir: string) {
  const env = { DATAHUB_STORE_URL: storeUrl, DATAHUB_DATA_DIR: dataDir };
  const logger = createLogger({ service: 'scale', level: 'silent', pretty: false });
  const seal = await createSealer([(await generateKeyPair()).publicKey]);
  return openCatalog(readSettings(env, readCatalogConfig), { logger, nowMs: Date.now, seal, checkStatement });
}

type Measured = Map<string, number[]>;

/** `measure` runs one call and returns its figures. */
async function measureAll(
  catalog: Awaited<ReturnType<typeof open>>,
  accounts: number,
  options: { times: number; measure: (call: () => Promise<unknown>) => Promise<number[]> },
): Promise<Measured> {
  const measured: Measured = new Map();
  const run = async (call: () => Promise<unknown>) => options.measure(call);
  for (const [name, operation] of Object.entries(operations(catalog))) {
    const figures: number[][] = [];
    // The first calls prepare statements.
    for (let i = -5; i < options.times; i++) {
      const one = known(Math.floor(Math.random() * accounts));
      const found = await run(() => operation(one));
      if (i >= 0) figures.push(found);
    }
    measured.set(
      name,
      (figures[0] ?? []).map((_, column) => median(figures.map((row) => row[column] as number))),
    );
  }
  return measured;
}

function print(small: Measured, large: Measured, columns: string[]): void {
  say(`${' '.repeat(36)}${columns.map((column) => column.padStart(26)).join('')}`);
  for (const [name, before] of small) {
    const after = large.get(name) as number[];
    const cells = before.map((value, i) => {
      const grown = after[i] as number;
      return `${value.toFixed(0)} → ${grown.toFixed(0)} (${(grown / value).toFixed(2)} ×)`.padStart(26);
    });
    say(`${name.padEnd(36)}${cells.join('')}`);
  }
}

async function onSqlite(): Promise<void> {
  const timeOf = async (call: () => Promise<unknown>) => {
    const startedAt = performance.now();
    await call();
    return [(performance.now() - startedAt) * 1_000];
  };
  const measure = async (accounts: number) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'datahub-scale-'));
    const url = `sqlite:${dataDir}`;
    const path = join(dataDir, 'catalog.db');
    try {
      const startedAt = performance.now();
      const store = await openCatalogStore(`sqlite:${path}`);
      await load(store, accounts);
      await store.close();
      const seconds = (performance.now() - startedAt) / 1_000;
      const openedAt = performance.now();
      const catalog = await open(url, dataDir);
      const openMs = performance.now() - openedAt;
      const measured = await measureAll(catalog, accounts, { times: calls, measure: timeOf });
      await catalog.close();
      const documents = accounts * documentsPerAccount;
      const bytes = statSync(path).size;
      say(
        `SQLite: ${inThousands(documents)} documents written in ${seconds.toFixed(0)} s, ${(bytes / documents).toFixed(0)} bytes each; opened in ${openMs.toFixed(0)} ms`,
      );
      return measured;
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  };
  const small = await measure(smallAccounts);
  const large = await measure(Math.ceil(sqliteDocuments / documentsPerAccount));
  print(small, large, ['µs']);
}

/** The catalog looks through its collections when it starts. Waits until that is done. */
async function quiet(wire: Wire): Promise<void> {
  for (let before = -1; before !== wire.commands; ) {
    before = wire.commands;
    await sleep(2_000);
  }
}

async function onMongodb(server: string): Promise<void> {
  const measure = async (accounts: number) => {
    const target = new URL(server);
    const name = `scale_${randomBytes(4).toString('hex')}`;
    target.pathname = `/${name}`;
    const wire = await openWire(target.href);
    const dataDir = mkdtempSync(join(tmpdir(), 'datahub-scale-'));
    const client = new MongoClient(target.href);
    try {
      const store = await openCatalogStore(target.href);
      await load(store, accounts);
      await store.close();
      const catalog = await open(wire.url, dataDir);
      await quiet(wire);
      const countOf = async (call: () => Promise<unknown>) => {
        const before = { ...wire };
        await call();
        return [wire.commands - before.commands, wire.replyBytes - before.replyBytes];
      };
      const measured = await measureAll(catalog, accounts, { times: 5, measure: countOf });
      await catalog.close();
      say(`MongoDB's wire: ${inThousands(accounts * documentsPerAccount)} documents`);
      return measured;
    } finally {
      wire.close();
      rmSync(dataDir, { recursive: true });
      await client.db(name).dropDatabase();
      await client.close();
    }
  };
  const small = await measure(smallAccounts);
  const large = await measure(Math.ceil(mongodbDocuments / documentsPerAccount));
  print(small, large, ['commands', 'bytes of replies']);
}

await onSqlite();
const { MONGODB_URL } = process.env;
if (MONGODB_URL === undefined) say('scale: MongoDB skipped, because MONGODB_URL is not in the environment.');
else await onMongodb(MONGODB_URL);
