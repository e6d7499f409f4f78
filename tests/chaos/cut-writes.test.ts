/**
 * Writes whose link is cut at a random byte: each answer is compared with the table, and each Idempotency-Key is applied
 * at most once, and exactly once if any answer was 200.
 */

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, createApi } from '../support/api.ts';
import { accessOf, createTestDatabases, operateOn, type TestDatabases } from '../support/databases.ts';
import { newDatabaseUrl } from '../support/mongodb.ts';
import { createRandom } from '../support/random.ts';
import { scaled } from '../support/scale.ts';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';
import { type Cut, type FaultyNetwork, startNetwork } from './support/network.ts';

const { MONGODB_URL } = process.env;
const variables = {
  postgres: 'POSTGRES_URL',
  mysql: 'MYSQL_URL',
  mariadb: 'MARIADB_URL',
  mongodb: 'MONGODB_URL',
};

const insert = 'INSERT INTO cuts (id) VALUES (:id)';
const procedure = {
  postgres: 'CREATE PROCEDURE cut_call(n int) LANGUAGE sql AS $$ INSERT INTO cuts (id) VALUES (n) $$',
  mysql: 'CREATE PROCEDURE cut_call(n INT) INSERT INTO cuts (id) VALUES (n)',
};
/** The table has no key, so that a second write of a row shows. */
const table = 'CREATE TABLE cuts (id INT)';
const setUp: Record<string, string[]> = {
  postgres: [table, procedure.postgres],
  mysql: [table, procedure.mysql],
  mariadb: [table, procedure.mysql],
};
interface Write {
  query: string;
  command?: string;
  options?: object;
}
const call = { query: 'CALL cut_call(:id)', command: 'CALL' };
const inTransaction = { query: insert, command: 'INSERT', options: { maxAffected: 1 } };
const returning = { query: `${insert} RETURNING id`, command: 'INSERT' };
const writes: Record<string, Write[]> = {
  postgres: [{ query: insert, command: 'INSERT' }, returning, inTransaction, call],
  mysql: [{ query: insert, command: 'INSERT' }, inTransaction, call],
  mariadb: [{ query: insert, command: 'INSERT' }, returning, inTransaction, call],
  mongodb: [{ query: '{"insert": "cuts", "documents": [{"id": ":id"}]}' }],
};
const isMongodb = (engine: string) => engine === 'mongodb';
const reads = (engine: string) => (isMongodb(engine) ? '{"count": "cuts"}' : 'SELECT 1 AS one');
const counts = (engine: string) =>
  isMongodb(engine)
    ? '{"aggregate": "cuts", "pipeline": [{"$group": {"_id": "$id", "n": {"$sum": 1}}}]}'
    : 'SELECT id AS _id, COUNT(*) AS n FROM cuts GROUP BY id';

/** Each has a source of its own, with one connection. */
const lanesCount = 5;
interface Lane {
  network: FaultyNetwork;
  sourceId: string;
  read: string;
  writes: { queryId: string; options: object }[];
}
interface Ended {
  id: number;
  cut: Cut | undefined;
  statuses: number[];
  codes: string[];
}

describe.each(scaled(['sqlite'], ['sqlite', 'mongodb']))('over %s, writes that are cut', (store) => {
  let hub: SpawnedHub;
  let databases: TestDatabases;
  let api: Api;
  const mongodb = `cut_${randomBytes(4).toString('hex')}`;

  beforeAll(async () => {
    databases = await createTestDatabases(process.env);
    hub = await spawnHub({
      DATAHUB_STATEMENT_TIMEOUT_MS: '3000',
      DATAHUB_CONNECT_TIMEOUT_MS: '1500',
      ...(store === 'mongodb' ? { DATAHUB_STORE_URL: newDatabaseUrl() } : {}),
    });
    api = createApi({ url: hub.url, key: hub.key });
  });
  afterAll(async () => {
    await hub?.close();
    await databases?.close();
  });

  const execute = (queryId: string, more: object = {}, headers: Record<string, string> = {}) =>
    api.post('/v1/queries/execute', { queryId, ...more }, { headers });

  /** After five cut log-ins, a source pauses for up to a minute. */
  async function until(isDone: () => Promise<boolean>): Promise<void> {
    for (const deadline = performance.now() + 150_000; !(await isDone()); ) {
      if (performance.now() > deadline) throw new Error('The source did not come back.');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  const untilServed = (read: string) => until(async () => (await execute(read)).status === 200);

  async function openLane(engine: string, hubId: string): Promise<Lane> {
    const access = isMongodb(engine)
      ? { ...accessOf(MONGODB_URL as string), database: mongodb }
      : (databases.access[engine] as ReturnType<typeof accessOf>);
    const network = await startNetwork(access);
    const at = { host: '127.0.0.1', port: network.port, tls: { mode: 'disable' }, pool: { max: 1 } };
    const connectionSettings = { ...access, ...at };
    const { sourceId } = await api.ok(
      api.post('/v1/sources', { hubId, label: 's', engine, connectionSettings }),
    );
    const save = async ({ query, command }: Write): Promise<string> => {
      const context = [{ key: 'id', type: 'integer' }];
      const body = {
        hubId,
        sourceId,
        label: 'q',
        query,
        command,
        ...(query.includes(':id') ? { context } : {}),
      };
      return (await api.ok(api.post('/v1/queries', body))).config.query.queryId;
    };
    const saved = [];
    for (const write of writes[engine] as Write[])
      saved.push({ queryId: await save(write), options: write.options ?? {} });
    return { network, sourceId, read: await save({ query: reads(engine) }), writes: saved };
  }

  /** Sends a write until it is answered with 200 or refused as a repetition. */
  async function cutOne(lane: Lane, id: number, random: () => number): Promise<Ended> {
    const pick = (below: number) => Math.floor(random() * below);
    const isCold = random() < 0.1;
    const cut: Cut = {
      cutIn: random() < 0.5 ? 'requests' : 'answers',
      afterBytes: pick(isCold ? 3_000 : 700),
      how: random() < 0.1 ? 'silence' : 'reset',
    };
    const write = lane.writes[pick(lane.writes.length)] as Lane['writes'][number];
    await untilServed(lane.read);
    if (isCold) lane.network.resetAll();
    lane.network.fault = cut;
    const ended: Ended = { id, cut, statuses: [], codes: [] };
    const body = { context: { id }, options: write.options };
    const headers = { 'idempotency-key': `${lane.sourceId}-${id}` };
    await until(async () => {
      const { status, body: answer } = await execute(write.queryId, body, headers);
      lane.network.fault = 'none';
      ended.statuses.push(status);
      ended.codes.push(answer?.code ?? '');
      return ended.codes.length > 1 && (status === 200 || answer?.code === 'IDEMPOTENCY_CONFLICT');
    });
    return ended;
  }

  it.each(Object.entries(variables).filter(([, variable]) => process.env[variable] !== undefined))(
    'are answered as the table says by %s',
    async (engine) => {
      const { hubId } = await api.ok(api.post('/v1/hubs', { label: engine }));
      if (!isMongodb(engine))
        await operateOn(databases.access[engine] as never, engine, setUp[engine] as string[]);
      const lanes = await Promise.all(Array.from({ length: lanesCount }, () => openLane(engine, hubId)));
      const each = scaled(10, 200);
      const all = await Promise.all(
        lanes.map(async (lane, i) => {
          const random = createRandom(i + 1);
          const ends: Ended[] = [];
          for (let n = 0; n < each; n++) ends.push(await cutOne(lane, i * each + n, random));
          return ends;
        }),
      );
      const [first] = lanes as [Lane];
      await untilServed(first.read);
      const { sourceId } = first;
      const count = await api.ok(api.post('/v1/queries/try', { sourceId, query: counts(engine) }));
      for (const lane of lanes) lane.network.close();
      const written = new Map(count.data.map(({ _id, n }: { _id: number; n: number }) => [_id, n]));
      const told = all.flat();
      expect(told.filter((one) => !isTrue(one, Number(written.get(one.id) ?? 0)))).toEqual([]);
      const firsts = Map.groupBy(told, ({ codes }) => codes[0]);
      process.stdout.write(
        `${engine} over ${store}: ${[...firsts].map(([code, those]) => `${those.length} ${code || 'ok'}`).join(', ')}\n`,
      );
      // Some were cut in the middle, and some were not.
      expect([firsts.has(''), firsts.has('OUTCOME_UNKNOWN')]).toEqual([true, true]);
    },
    scaled(180_000, 1_800_000),
  );
});

/** The last answer is that of a repetition with the key. */
function isTrue({ statuses, codes }: Ended, rows: number): boolean {
  const isAnswered = statuses.at(-1) === 200 || codes.at(-1) === 'IDEMPOTENCY_CONFLICT';
  // A repetition is refused if the outcome is unknown, and only then.
  const isUnknown = codes.includes('OUTCOME_UNKNOWN');
  const isRefused = codes.includes('IDEMPOTENCY_CONFLICT');
  return isAnswered && isUnknown === isRefused && (isUnknown ? rows <= 1 : rows === 1);
}
