/**
 * Executors, gateways and whole hubs that die between the COMMIT of a write with an Idempotency-Key and its answer: a
 * repetition with the key answers what the first request did, or does it, and nothing is done twice. `TEST_SCALE=full`
 * loses 1,000 COMMITs.
 */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket, connect as tcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Answer, type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { scaled } from '../support/scale.ts';
import { hubSettings, spawnHub } from '../support/spawned.ts';

const { POSTGRES_URL } = process.env;
/** COMMITs that are lost with one process. */
const together = scaled(4, 10);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Passes everything, and stops at COMMIT while it waits for some: each second one reaches the server. */
class Link {
  readonly port = Promise.withResolvers<number>();
  #waited = Promise.withResolvers<void>();
  #left = 0;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  constructor(target: { host: string; port: number }) {
    this.#server = createServer((client) => this.#pass(client, tcp(target)));
    this.#server.listen(0, '127.0.0.1', () => {
      this.port.resolve((this.#server.address() as { port: number }).port);
    });
  }

  /** Resolves when so many were lost. */
  lose(commits: number): Promise<void> {
    this.#left = commits;
    this.#waited = Promise.withResolvers<void>();
    return this.#waited.promise;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #pass(client: Socket, server: Socket): void {
    let isDeaf = false;
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.on('data', (bytes) => {
      if (isDeaf) return;
      isDeaf = this.#left > 0 && bytes.includes('COMMIT\0');
      if (!isDeaf) return server.write(bytes);
      const isLast = --this.#left === 0;
      if (this.#left % 2 === 0) {
        server.write(bytes);
        server.once('data', () => isLast && this.#waited.resolve());
      }
    });
    server.on('data', (bytes) => isDeaf || client.write(bytes));
  }
}

describe.skipIf(POSTGRES_URL === undefined)('a COMMIT whose process dies (needs POSTGRES_URL)', () => {
  const table = `died_${randomBytes(4).toString('hex')}`;
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  let dir: string;
  let link: Link;
  let next = 0;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-died-'));
    link = new Link(accessOf(POSTGRES_URL as string));
  });
  afterAll(async () => {
    link.close();
    await rm(dir, { recursive: true, force: true });
  });

  interface Bench {
    insert: string;
    counts(from: number, to: number): Promise<number[]>;
    drop(): Promise<unknown>;
  }

  async function open(api: Api): Promise<Bench> {
    const access = accessOf(POSTGRES_URL as string);
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'died' }));
    const add = async (settings: object) => {
      const body = { hubId, label: 's', engine: 'postgres', connectionSettings: settings };
      return (await api.ok(api.post('/v1/sources', body))).sourceId as string;
    };
    const store = async (sourceId: string, query: string) => {
      const body = { hubId, sourceId, label: 'q', query, command: query.split(' ', 1)[0] };
      return (await api.ok(api.post('/v1/queries', body))).config.query.queryId as string;
    };
    const execute = async (queryId: string, context = {}) =>
      (await api.ok(api.post('/v1/queries/execute', { queryId, context }))).data;
    const direct = await add(access);
    await execute(await store(direct, `CREATE TABLE IF NOT EXISTS ${table} (id int, n serial)`));
    const all = await store(direct, `SELECT id FROM ${table} WHERE id >= :a AND id < :b ORDER BY id`);
    const drop = await store(direct, `DROP TABLE IF EXISTS ${table}`);
    const at = { host: '127.0.0.1', port: await link.port.promise, tls: { mode: 'disable' } };
    const linked = await add({ ...access, ...at, pool: { max: together } });
    return {
      insert: await store(linked, `INSERT INTO ${table} (id) VALUES (:id) RETURNING id, n`),
      counts: async (a, b) => (await execute(all, { a, b })).map(({ id }: { id: number }) => id),
      drop: () => execute(drop),
    };
  }

  const write = (api: Api, { insert }: Bench, id: number): Promise<Answer> => {
    const headers = { 'idempotency-key': `${table}-${id}` };
    const context = { id };
    const one = { queryId: insert, context, options: { meta: true } };
    return id % 4 < 2
      ? api.post('/v1/queries/execute', one, { headers })
      : api.post('/v1/queries/transaction', { steps: [{ queryId: insert, context }] }, { headers });
  };

  /** Loses COMMITs with a process, and repeats each request with its key until it is answered. */
  async function lose(api: () => Api, bench: Bench, kill: () => Promise<unknown>): Promise<void> {
    const from = next;
    next += together;
    const ids = Array.from({ length: together }, (_, i) => from + i);
    const lost = link.lose(together);
    const firsts = ids.map((id) => write(api(), bench, id).catch(() => undefined));
    await lost;
    const killed = kill();
    const codes = (await Promise.all(firsts)).map((first) => first?.body.code);
    expect(codes.filter((code) => code !== undefined && code !== 'OUTCOME_UNKNOWN')).toEqual([]);
    await killed;
    const answers = await Promise.all(ids.map((id) => answered(api(), bench, id)));
    expect(await bench.counts(from, next)).toEqual(ids);
    // Those that reached the server are answered with their rows, and the others ran.
    const found = answers.filter(({ meta }) => meta.recovered);
    expect(found).toHaveLength(together / 2);
    for (const [i, answer] of answers.entries())
      expect((answer.steps?.[0] ?? answer).data).toMatchObject([{ id: ids[i] }]);
  }

  async function answered(api: Api, bench: Bench, id: number): Promise<any> {
    for (let tries = 0; tries < 200; tries++) {
      const answer = await write(api, bench, id).catch(() => undefined);
      if (answer?.status === 200) return answer.body;
      const { code, retryable } = answer?.body ?? {};
      const isRunning = code === 'IDEMPOTENCY_CONFLICT' && /still running/.test(answer?.body.detail);
      if (answer !== undefined && !retryable && !isRunning) throw new Error(JSON.stringify(answer.body));
      await sleep(100);
    }
    throw new Error('The request was not answered.');
  }

  it('with an executor, or with a gateway', { timeout: 600_000 }, async () => {
    const settings = { ...hubSettings(join(dir, 'four'), key), DATAHUB_EDGE: 'none' };
    const hub: DistributedHub = await startDistributed(settings, 'ignore', { replicas: { executor: 2 } });
    try {
      const api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
      const bench = await open(api);
      const both = () => Promise.all([0, 1].map((replica) => hub.restart('executor', replica, 'SIGKILL')));
      const gateway = () => hub.restart('gateway', 0, 'SIGKILL');
      for (let i = 0; i < scaled(2, 70); i++) await lose(() => api, bench, i % 2 === 0 ? both : gateway);
      await bench.drop();
    } finally {
      await hub.close();
    }
  });

  it('with the whole hub', { timeout: 600_000 }, async () => {
    const settings = {
      DATAHUB_DATA_DIR: join(dir, 'one'),
      DATAHUB_API_KEY: key,
      PORT: String(await freePort()),
    };
    let hub = await spawnHub(settings);
    try {
      const bench = await open(hub.api);
      const kill = async () => {
        process.kill(hub.pid, 'SIGKILL');
        hub = await spawnHub(settings);
      };
      for (let i = 0; i < scaled(1, 30); i++) await lose(() => hub.api, bench, kill);
      await bench.drop();
    } finally {
      await hub.close();
    }
  });
});
