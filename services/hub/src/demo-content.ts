/** Creates the demo's content through the public API, once for each data directory. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, isFreePort } from '@datahub/service-kit/process/free-port';

export interface Demo {
  /** Resolves when the demo is usable. */
  ready: Promise<DemoContent>;
  /** Can be called while the demo starts. */
  close(): Promise<void>;
}

/** What the first start created, stored for later ones. */
export interface DemoContent {
  /** The port of the database, which the source names. */
  port: number;
  queryId: string;
  classifierId: string;
}

type Call = <T>(path: string, body?: object, method?: 'POST' | 'PUT') => Promise<T>;

const childPath = fileURLToPath(new URL('demo-database.ts', import.meta.url));
const startTimeoutMs = 60_000;
const callTimeoutMs = 30_000;
const stopTimeoutMs = 30_000;

export async function startDemo(hub: { url: string; key: string; dataDir: string }): Promise<Demo> {
  const contentFile = join(hub.dataDir, 'demo.json');
  const before = await readContent(contentFile);
  const isUsable = before !== undefined && (await isFreePort(before.port));
  const port = isUsable ? before.port : await freePort();
  const files = join(hub.dataDir, 'demo-database');
  // A start that was cut before the files were complete left them without a record of the demo.
  if (before === undefined) await rm(files, { recursive: true, force: true });
  const database = fork(childPath, [files, String(port)], { stdio: 'inherit' });
  let isReady = false;
  const fill = async () => {
    await untilReady(database);
    isReady = true;
    if (isUsable) return before;
    const call = createCall(hub);
    const content = before === undefined ? await createContent(call, port) : { ...before, port };
    if (before !== undefined) await movePort(call, content);
    await writeFile(contentFile, JSON.stringify(content), { mode: 0o600 });
    return content;
  };
  // Before it is ready, it computes for seconds and hears no signal.
  return { ready: fill(), close: () => stop(database, isReady ? 'SIGTERM' : 'SIGKILL') };
}

/** Undefined if there is none, or if a full disk or a crash left a part of it. */
async function readContent(file: string): Promise<DemoContent | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as DemoContent;
  } catch {
    return undefined;
  }
}

async function untilReady(database: ChildProcess): Promise<void> {
  const timeout = AbortSignal.timeout(startTimeoutMs);
  const ended = once(database, 'exit', { signal: timeout }).then(() => {
    throw new Error('The demo database ended during its start.');
  });
  await Promise.race([once(database, 'message', { signal: timeout }), ended]);
  ended.catch(() => {});
}

async function stop(database: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (database.exitCode !== null || database.signalCode !== null) return;
  const ended = once(database, 'exit');
  database.kill(signal);
  const killTimer = setTimeout(() => database.kill('SIGKILL'), stopTimeoutMs);
  await ended;
  clearTimeout(killTimer);
}

function createCall({ url, key }: { url: string; key: string }): Call {
  return async <T>(path: string, body?: object, method = 'POST') => {
    const response = await fetch(url + path, {
      headers: { 'content-type': 'application/json', 'x-service-api-key': key },
      ...(body === undefined ? {} : { method, body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(callTimeoutMs),
    });
    if (!response.ok) throw new Error(`The demo could not be created: ${await response.text()}`);
    return (await response.json()) as T;
  };
}

/** Another program took the port since the last start. */
async function movePort(call: Call, { port, queryId }: DemoContent): Promise<void> {
  const { config } = await call<{ config: { source: { sourceId: string } } }>(`/v1/queries/${queryId}`);
  await call(`/v1/sources/${config.source.sourceId}`, { connectionSettings: settingsFor(port) }, 'PUT');
}

async function createContent(post: Call, port: number): Promise<DemoContent> {
  const { hubId } = await post<{ hubId: string }>('/v1/hubs', { label: 'Demo' });
  const { sourceId } = await post<{ sourceId: string }>('/v1/sources', {
    hubId,
    label: 'Orders (PGlite)',
    engine: 'postgres',
    connectionSettings: settingsFor(port),
  });
  const create = async (label: string, query: string, context: object[] = []) => {
    const body = { hubId, label, sourceId, query, context };
    return (await post<{ config: { query: { queryId: string } } }>('/v1/queries', body)).config.query.queryId;
  };
  const queryId = await create(
    'Sales of a region by product',
    'SELECT product, sum(quantity) AS quantity, sum(amount)::numeric(12, 2) AS amount\nFROM orders WHERE region = :region\nGROUP BY product ORDER BY product',
    [{ key: 'region', type: 'string', value: 'north', enum: ['north', 'south', 'east', 'west'] }],
  );
  const newestId = await create(
    'Newest orders',
    'SELECT * FROM orders ORDER BY ordered_at DESC LIMIT :count',
    [{ key: 'count', type: 'integer', value: 10 }],
  );
  const cards = [
    { text: '# Orders\nWhat was sold in a region, in the south, and what came in last.', size: 'full' },
    { queryId, size: 'wide' },
    { queryId, size: 'wide', label: 'The same in the south', values: { region: 'south' } },
    { queryId: newestId, size: 'full', values: { count: 12 } },
  ];
  await post('/v1/boards', { hubId, label: 'Orders at a glance', path: 'orders', cards, refreshMinutes: 5 });
  return { port, queryId, classifierId: await trainClassifier(post) };
}

const settingsFor = (port: number) => ({
  host: '127.0.0.1',
  port,
  database: 'demo',
  user: 'demo',
  password: 'any password',
  tls: { mode: 'disable' },
  pool: { max: 1 },
});

const examples: Record<string, string[]> = {
  delivery: [
    'where is my parcel',
    'my order has not arrived yet',
    'the delivery is late',
    'tracking says delivered but there is no package',
    'when will my order be shipped',
  ],
  refund: [
    'I want my money back',
    'please refund my last order',
    'the tea was stale, I would like a refund',
    'cancel my order and return the payment',
    'how do I send something back for a refund',
  ],
  praise: [
    'the coffee is wonderful',
    'great service, thank you',
    'best cocoa I ever had',
    'I love your tea',
    'fast and friendly, five stars',
  ],
};

async function trainClassifier(post: Call): Promise<string> {
  const { id } = await post<{ id: string }>('/v1/classifiers', { name: 'Customer mail' });
  const all = Object.entries(examples).flatMap(([label, texts]) =>
    texts.map((context) => ({ label, context })),
  );
  await post(`/v1/classifiers/${id}/train`, { examples: all });
  return id;
}
