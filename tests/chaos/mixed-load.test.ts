/**
 * Calls of all kinds at once on few connections: small reads and large rows whose readers are slow or leave, writes,
 * transactions and uploads, over links that are cut at random bytes. Each write is compared with the table afterwards, and
 * no connection stays in use.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Api } from '../support/api.ts';
import {
  createTestDatabases,
  type DatabaseAccess,
  operateOn,
  type TestDatabases,
} from '../support/databases.ts';
import { createRandom } from '../support/random.ts';
import { scaled } from '../support/scale.ts';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';
import { read } from '../support/streaming.ts';
import { type FaultyNetwork, startNetwork } from './support/network.ts';

const variables = { postgres: 'POSTGRES_URL', mysql: 'MYSQL_URL', mariadb: 'MARIADB_URL' };
const engines = Object.entries(variables).flatMap(([engine, variable]) =>
  process.env[variable] === undefined ? [] : [engine],
);

const connections = 4;
const callers = 16;
const loadMs = scaled(6_000, 180_000);
const cutEveryMs = 400;
const rowCharacters = 5_000_000;
const formats = [
  'application/json',
  'application/x-ndjson',
  'text/csv',
  'application/vnd.apache.arrow.stream',
];

interface Source {
  network: FaultyNetwork;
  queries: Record<'row' | 'rows' | 'insert' | 'count', string>;
}

interface Write {
  mark: string;
  /** The rows that it has if it is carried out. */
  rows: number;
  answers: { status: number; code: string }[];
}

describe.skipIf(engines.length === 0)('calls of all kinds at once (needs a database)', () => {
  let databases: TestDatabases;
  let hub: SpawnedHub;
  let metricsPort: number;
  let api: Api;

  beforeAll(async () => {
    databases = await createTestDatabases(process.env);
    metricsPort = await freePort();
    hub = await spawnHub({ DATAHUB_METRICS_PORT: String(metricsPort), DATAHUB_STATEMENT_TIMEOUT_MS: '5000' });
    ({ api } = hub);
  });
  afterAll(async () => {
    await hub?.close();
    await databases?.close();
  });

  async function prepare(engine: string): Promise<Source> {
    const access = databases.access[engine] as DatabaseAccess;
    await operateOn(access, engine, ['CREATE TABLE marks (mark VARCHAR(50))']);
    const network = await startNetwork(access);
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: engine }));
    const open = async (settings: object) => {
      const connectionSettings = { ...access, tls: { mode: 'disable' }, ...settings };
      const source = { hubId, label: 's', engine, connectionSettings };
      return (await api.ok(api.post('/v1/sources', source))).sourceId as string;
    };
    const save = async (sourceId: string, query: string, command?: string): Promise<string> => {
      const body = { hubId, sourceId, label: 'q', query, command };
      return (await api.ok(api.post('/v1/queries', body))).config.query.queryId;
    };
    const cut = await open({ host: '127.0.0.1', port: network.port, pool: { max: connections } });
    return {
      network,
      queries: {
        row: await save(cut, "SELECT REPEAT('x', :size) AS t"),
        rows: await save(cut, 'SELECT a.id, b.region FROM sales a, sales b, sales c, sales d'),
        insert: await save(cut, 'INSERT INTO marks (mark) VALUES (:mark)', 'INSERT'),
        count: await save(await open({}), 'SELECT mark, COUNT(*) AS n FROM marks GROUP BY mark'),
      },
    };
  }

  it.each(engines)('are answered as the table says, and leave no connection in use: %s', async (engine) => {
    const { network, queries } = await prepare(engine);
    const random = createRandom(7);
    const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
    const writes: Write[] = [];
    const until = performance.now() + loadMs;

    const readSlowly = async () => {
      const isLarge = random() < 0.5;
      const context = isLarge ? { size: Math.ceil(random() * rowCharacters) } : {};
      const queryId = isLarge ? queries.row : queries.rows;
      const reader = read(hub, { queryId, context, accept: pick(formats) });
      if (random() < 0.2) setTimeout(reader.leave, random() * 300);
      const hasBegun = await reader.begun.then(
        () => true,
        () => false,
      );
      if (!hasBegun) return;
      for (let upTo = 1_000_000; upTo < rowCharacters; upTo += 1_000_000) {
        reader.resume(upTo);
        await wait(20);
      }
      reader.resume();
      await reader.ended;
    };
    const writing = async (
      rows: number,
      send: (mark: string) => Promise<{ status: number; body: { code?: string } }>[],
    ) => {
      const write: Write = { mark: randomUUID(), rows, answers: [] };
      writes.push(write);
      for (const sent of send(write.mark)) {
        const { status, body } = await sent;
        write.answers.push({ status, code: body?.code ?? '' });
      }
    };
    const step = (mark: string) => ({ queryId: queries.insert, context: { mark } });
    const kinds = [
      readSlowly,
      readSlowly,
      () => writing(1, (mark) => [api.post('/v1/queries/execute', step(mark))]),
      () => {
        const headers = { 'idempotency-key': randomUUID() };
        return writing(1, (mark) =>
          [1, 2].map(() => api.post('/v1/queries/execute', step(mark), { headers })),
        );
      },
      () => writing(2, (mark) => [api.post('/v1/queries/transaction', { steps: [step(mark), step(mark)] })]),
      () => writing(20, (mark) => [upload(mark)]),
    ];
    const upload = async (mark: string) => {
      const response = await fetch(`${hub.url}/v1/queries/${queries.insert}/rows`, {
        method: 'POST',
        headers: { 'x-service-api-key': hub.key, 'content-type': 'application/x-ndjson' },
        body: `${JSON.stringify({ mark })}\n`.repeat(20),
      });
      return { status: response.status, body: (await response.json()) as { code?: string } };
    };
    const call = async () => {
      while (performance.now() < until) await pick(kinds)();
    };
    const cut = async () => {
      for (; performance.now() < until; await wait(cutEveryMs)) {
        const afterBytes = Math.floor(random() * 3_000);
        network.fault = { cutIn: pick(['requests', 'answers'] as const), afterBytes, how: 'reset' };
      }
      network.fault = 'none';
    };
    await Promise.all([cut(), ...Array.from({ length: callers }, call)]);
    network.close();

    const counted = await api.ok(api.post('/v1/queries/execute', { queryId: queries.count }));
    const found = new Map<string, number>(
      counted.data.map(({ mark, n }: { mark: string; n: number }) => [mark, Number(n)]),
    );
    const untrue = writes.filter((write) => !isTrue(write, found.get(write.mark) ?? 0));
    expect(untrue.map((write) => ({ ...write, found: found.get(write.mark) ?? 0 }))).toEqual([]);
    expect(writes.filter(({ answers }) => answers[0]?.status === 200).length).toBeGreaterThan(20);
    await expect.poll(inUse, { timeout: 20_000 }).toEqual([]);
  });

  async function inUse(): Promise<string[]> {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    const isUse = /^datahub_(pool_connections\{state="(busy|connecting)"\}|pool_waiting|slots_waiting)/;
    return text.split('\n').filter((line) => isUse.test(line) && !line.endsWith(' 0'));
  }
});

function isTrue({ rows, answers }: Write, found: number): boolean {
  if (found !== 0 && found !== rows) return false;
  if (answers.some(({ status }) => status === 200)) return found === rows;
  return (
    answers.some(({ code }) => ['OUTCOME_UNKNOWN', 'IDEMPOTENCY_CONFLICT'].includes(code)) || found === 0
  );
}
