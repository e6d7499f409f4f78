import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabases, type TestDatabases } from '../support/databases.ts';
import { scaled } from '../support/scale.ts';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';
import { read } from '../support/streaming.ts';
import { type FaultyNetwork, startNetwork } from './support/network.ts';

const servers = {
  postgres: process.env.POSTGRES_URL,
  mariadb: process.env.MARIADB_URL,
  mysql: process.env.MYSQL_URL,
};
/** 20,000 of them. */
const rows: Record<string, string> = {
  postgres: 'generate_series(1, 20000) AS s(n)',
  mariadb: 'seq_1_to_20000',
  mysql: "JSON_TABLE(CONCAT('[0', REPEAT(',0', 19999), ']'), '$[*]' COLUMNS (n FOR ORDINALITY)) AS s",
};
const statementMs = 2_000;
const connectMs = 1_500;
/** A statement's time, what a stopped one has to end, and a little. */
const boundMs = statementMs + 1_500;
/** A call can wait for all of these until a connection is free, and then open a new one. A busy machine adds to them. */
const waitBoundMs = boundMs + connectMs + 15_000;

describe.each(Object.entries(servers))('a %s source behind a network that fails', (engine, serverUrl) => {
  describe.skipIf(serverUrl === undefined)('(needs its URL in the environment)', () => {
    let databases: TestDatabases;
    let hub: SpawnedHub;
    let network: FaultyNetwork;
    let hubId: string;
    let source: { far: string; near: string };
    let queries: Record<'far' | 'near' | 'large' | 'insert' | 'count', string>;

    beforeAll(async () => {
      const variable = `${engine.toUpperCase()}_URL`;
      databases = await createTestDatabases({ [variable]: serverUrl });
      const { host, port, ...access } = databases.access[engine] as { host: string; port: number };
      network = await startNetwork({ host, port });
      hub = await spawnHub({
        DATAHUB_STATEMENT_TIMEOUT_MS: String(statementMs),
        DATAHUB_CONNECT_TIMEOUT_MS: String(connectMs),
      });
      const { api } = hub;
      ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'faults' })));
      const add = async (at: object) => {
        const connectionSettings = { ...at, ...access };
        return (await api.ok(api.post('/v1/sources', { hubId, label: 's', engine, connectionSettings })))
          .sourceId;
      };
      source = {
        // In the clear, so that the network can see what it passes on.
        far: await add({ host: '127.0.0.1', port: network.port, tls: { mode: 'disable' } }),
        near: await add({ host, port }),
      };
      const store = async (sourceId: string, query: string, command = 'SELECT') =>
        (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, command }))).config.query
          .queryId;
      const repeat = engine === 'postgres' ? "repeat('x', 1000)" : "REPEAT('x', 1000)";
      queries = {
        far: await store(source.far, 'SELECT 1 AS one'),
        near: await store(source.near, 'SELECT 1 AS one'),
        large: await store(source.far, `SELECT ${repeat} AS filler FROM ${rows[engine]}`),
        insert: await store(source.far, 'INSERT INTO scratch (id, label) VALUES (:id, :label)', 'INSERT'),
        count: await store(source.near, 'SELECT COUNT(*) AS n FROM scratch WHERE id >= 1000'),
      };
    });
    afterAll(async () => {
      network.close();
      await hub.close();
      await databases.close();
    });

    const execute = async (queryId: string, more: object = {}, headers: Record<string, string> = {}) => {
      const startedAt = performance.now();
      const { status, body } = await hub.api.post('/v1/queries/execute', { queryId, ...more }, { headers });
      return {
        status,
        code: body?.code,
        detail: body?.detail ?? '',
        data: body?.data,
        ms: performance.now() - startedAt,
      };
    };
    /** Until the first answer, in milliseconds. */
    const recovery = async () => {
      const startedAt = performance.now();
      while ((await execute(queries.far)).status !== 200) {
        if (performance.now() - startedAt > 60_000) throw new Error('The source did not come back.');
        await sleep(50);
      }
      return performance.now() - startedAt;
    };
    afterEach(async () => {
      network.fault = 'none';
      await recovery();
    });

    it.each<[string, FaultyNetwork['fault'], string[]]>([
      ['loses its answers', 'no-answers', ['STATEMENT_TIMEOUT', 'SOURCE_UNREACHABLE', 'SOURCE_BUSY']],
      ['loses everything', 'silence', ['STATEMENT_TIMEOUT', 'SOURCE_UNREACHABLE', 'SOURCE_BUSY']],
      ['resets all connections', 'reset', ['SOURCE_BROKEN', 'SOURCE_UNREACHABLE', 'SOURCE_BUSY']],
    ])('that %s is answered in time, harms no other source, and is back', async (_name, fault, codes) => {
      await Promise.all(Array.from({ length: 5 }, () => execute(queries.far)));
      network.fault = fault;
      const others: number[] = [];
      const endsAt = performance.now() + scaled(2_500, 10_000);
      const watching = (async () => {
        while (performance.now() < endsAt) {
          others.push((await execute(queries.near)).status);
          await sleep(10);
        }
      })();
      const failing = Array.from({ length: 20 }, async () => {
        while (performance.now() < endsAt) {
          const { status, code, ms } = await execute(queries.far);
          expect(codes).toContain(code);
          expect([status, ms < waitBoundMs]).toEqual([expect.toBeOneOf([502, 503, 504]), true]);
          await sleep(50);
        }
      });
      await Promise.all([...failing, watching]);
      expect(others.filter((status) => status !== 200)).toEqual([]);
      network.fault = 'none';
      const ms = await recovery();
      process.stdout.write(`${engine}: back ${Math.round(ms)} ms after ${JSON.stringify(fault)}\n`);
    });

    it('that sends 100 kB a second is cut off at the time limit of a statement', async () => {
      network.fault = { bytesPerSecond: 100_000 };
      const startedAt = performance.now();
      const reader = read(hub, { queryId: queries.large });
      await reader.begun;
      reader.resume();
      const { status, complete, text } = await reader.ended;
      // The whole answer would take 200 seconds.
      expect(performance.now() - startedAt).toBeLessThan(100_000);
      if (status === 200) {
        expect(complete).toBe(false);
        expect(() => JSON.parse(text)).toThrow(SyntaxError);
      } else expect(JSON.parse(text).code).toBe('STATEMENT_TIMEOUT');
    });

    it('that loses the answer to a write leaves its outcome unknown unless it was not committed, and the hub does not write twice', async () => {
      // With an Idempotency-Key, PostgreSQL is sent COMMIT only after the statement's answer.
      const isOpen = engine === 'postgres';
      const count = scaled(10, 200);
      for (let id = 1_000; id < 1_000 + count; id++) {
        await recovery();
        const label = `lost-${randomBytes(4).toString('hex')}`;
        network.fault = { resetInAnswerTo: label };
        const headers = { 'idempotency-key': label };
        const first = await execute(queries.insert, { context: { id, label } }, headers);
        network.fault = 'none';
        const again = await execute(queries.insert, { context: { id, label } }, headers);
        expect([first.status, first.code]).toEqual(
          isOpen ? [502, 'SOURCE_UNREACHABLE'] : [503, 'OUTCOME_UNKNOWN'],
        );
        expect([again.status, again.code]).toEqual(isOpen ? [200, undefined] : [409, 'IDEMPOTENCY_CONFLICT']);
        if (!isOpen) expect(first.detail).toContain('outcome is unknown');
      }
      // Each was written once.
      expect((await execute(queries.count)).data).toEqual([{ n: count }]);
    });
  });
});
