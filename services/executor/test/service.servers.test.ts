import { randomBytes } from 'node:crypto';
import type { ResolveQueryResponse } from '@datahub/proto/catalog/v1/catalog_internal';
import { Format } from '@datahub/proto/executor/v1/executor';
import { createCallContext } from '@datahub/service-kit/call/call';
import { readSettings } from '@datahub/service-kit/settings/settings';
import { createLogger } from '@datahub/service-kit/telemetry/logger';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { processList } from '../../../tests/support/databases.ts';
import { scaled } from '../../../tests/support/scale.ts';
import { readExecutorConfig } from '../src/config.ts';
import type { Catalog } from '../src/definitions/definition.ts';
import { createEngines } from '../src/engines/index.ts';
import { compileQuery } from '../src/execution/prepare.ts';
import { createResponseWriter } from '../src/result/response-writer.ts';
import { type ExecutorService, openExecutor } from '../src/service.ts';
import { leaseAny } from './fakes/slots.ts';
import { unlimitedLogins } from './unlimited-logins.ts';

/** An operator's view of the hub's sessions at the database, and the actions on them. */
interface Operator {
  running(): Promise<number>;
  sessions(): Promise<number>;
  killAll(): Promise<void>;
  query(text: string): Promise<unknown>;
  close(): Promise<void>;
}

interface Server {
  engine: string;
  url: string | undefined;
  hang: string;
  open(url: string): Promise<Operator>;
}

/** A separate database, so that the test counts and kills only its own sessions. */
const database = `executor_${randomBytes(6).toString('hex')}`;
const table = 'things';
/** Does not use SLEEP(), because MariaDB's KILL of several sleepers takes up to four seconds: they share a lock. */
const waitForRow = 'SELECT id FROM held LOCK IN SHARE MODE';
const servers: Server[] = [
  { engine: 'postgres', url: process.env.POSTGRES_URL, hang: 'SELECT pg_sleep(600)', open: operatePostgres },
  {
    engine: 'mariadb',
    url: process.env.MARIADB_URL,
    hang: waitForRow,
    open: (url) => operateMysql(url, 'mariadb'),
  },
  {
    engine: 'mysql',
    url: process.env.MYSQL_URL,
    hang: waitForRow,
    open: (url) => operateMysql(url, 'mysql'),
  },
];

async function operatePostgres(url: string): Promise<Operator> {
  const outer = new pg.Client({ connectionString: url });
  await outer.connect();
  await outer.query(`CREATE DATABASE ${database}`);
  const inner = new pg.Client({ connectionString: ownUrl(url) });
  await inner.connect();
  const ours = `FROM pg_stat_activity WHERE datname = '${database}' AND pid <> pg_backend_pid()`;
  const count = async (text: string) => Number((await inner.query(text)).rows[0].n);
  return {
    running: () => count(`SELECT count(*) AS n ${ours} AND state = 'active'`),
    sessions: () => count(`SELECT count(*) AS n ${ours}`),
    killAll: async () => void (await inner.query(`SELECT pg_terminate_backend(pid) ${ours}`)),
    query: async (text) => (await inner.query(text)).rows,
    close: async () => {
      await inner.end();
      await outer.query(`DROP DATABASE ${database} WITH (FORCE)`);
      await outer.end();
    },
  };
}

async function operateMysql(url: string, engine: string): Promise<Operator> {
  const client = await mysql.createConnection(url);
  await client.query(`CREATE DATABASE ${database}`);
  await client.query(`USE ${database}`);
  await client.query('CREATE TABLE held (id INT PRIMARY KEY)');
  await client.query('INSERT INTO held VALUES (1)');
  const holder = await mysql.createConnection(url);
  await holder.query('BEGIN');
  await holder.query(`SELECT id FROM ${database}.held FOR UPDATE`);
  const list = async () => {
    const [rows] = await client.query({
      sql: `SELECT id, command FROM ${processList(engine)} WHERE db = '${database}' AND id <> connection_id()`,
      rowsAsArray: true,
    });
    return rows as unknown as [id: number, command: string][];
  };
  return {
    running: async () =>
      (await list()).filter(([, command]) => command === 'Query' || command === 'Execute').length,
    sessions: async () => (await list()).length,
    killAll: async () => {
      for (const [id] of await list()) await client.query(`KILL ${id}`).catch(() => {});
    },
    query: async (text) => (await client.query(text))[0],
    close: async () => {
      await holder.end();
      await client.query(`DROP DATABASE ${database}`);
      await client.end();
    },
  };
}

function ownUrl(url: string): string {
  const own = new URL(url);
  own.pathname = `/${database}`;
  return own.href;
}

/** Engines whose source `wrong` has its password corrected. */
const corrected = new Set<string>();

/** A catalog in memory whose query ids are `<source>.<name>`. */
function fakeCatalog(server: Server, texts: Record<string, string>): Catalog {
  const url = new URL(server.url ?? '');
  const resolve = (queryId: string): ResolveQueryResponse => {
    const [sourceId = '', name = ''] = queryId.split('.');
    const text = texts[name] ?? '';
    const right = sourceId !== 'wrong' || corrected.has(server.engine);
    const password = right ? decodeURIComponent(url.password) : 'not the password';
    const version = corrected.has(server.engine) ? 2 : 1;
    return {
      query: {
        queryId,
        accountId: 'a',
        hubId: 'h',
        command: text.split(' ')[0] ?? '',
        query: text,
        context: [],
        notNull: [],
        version: 1,
      },
      source: {
        sourceId,
        accountId: 'a',
        hubId: 'h',
        engine: server.engine,
        host: url.hostname,
        port: Number(url.port),
        database,
        tls: { mode: 'prefer' },
        sealed: { user: decodeURIComponent(url.username), password, tlsKey: '' },
        pool: {},
        settingsVersion: String(version),
        version,
      },
      leaseMs: 1_000,
    };
  };
  return {
    resolveQuery: async ({ queryId }) => resolve(queryId),
    resolveSource: async ({ sourceId }) => ({ source: resolve(`${sourceId}.x`).source, leaseMs: 0 }),
    resolveDraft: async () => ({ query: undefined, source: undefined, leaseMs: 0 }),
    saveSignature: async () => ({}),
    takeSourceCheck: async () => ({ taken: false, queryIds: [] }),
    listSealed: async () => ({ sources: [] }),
    ...unlimitedLogins,
    reseal: async () => ({ done: false, moreDone: [] }),
    takeDeliveries: async () => ({ deliveries: [], lagMs: 0 }),
    endDelivery: async () => ({}),
    noteSource: async () => ({}),
    recordRuns: async () => ({}),
    noteCommit: async () => ({}),
    listSealedSecrets: async () => ({ secrets: [] }),
    resealSecrets: async () => ({ done: false }),
  };
}

describe.each(servers.filter(({ url }) => url !== undefined))('the pipeline over $engine', (server) => {
  let operator: Operator;
  let service: ExecutorService;
  const texts = {
    rows: `SELECT id, label FROM ${table} WHERE id IN (:ids) ORDER BY id`,
    one: 'SELECT 1 AS one',
    hang: server.hang,
    wrong: `SELECT nope FROM ${table} WHERE id = :id`,
    insert: `INSERT INTO ${table}_log VALUES (:id)`,
  };
  beforeAll(async () => {
    operator = await server.open(server.url ?? '');
    for (const text of [
      `CREATE TABLE ${table} (id INT PRIMARY KEY, label VARCHAR(50))`,
      `CREATE TABLE ${table}_log (id INT)`,
      `INSERT INTO ${table} VALUES (1, 'one'), (2, 'o''hara'), (3, NULL)`,
    ]) {
      await operator.query(text);
    }
    service = openExecutor(
      readSettings({}, (reader) => readExecutorConfig(reader, { embedded: true })),
      {
        logger: createLogger({ service: 'executor', level: 'silent', pretty: false }),
        catalog: fakeCatalog(server, texts),
        follow: () => ({ close: async () => {} }),
        leaseSlots: leaseAny,
        opener: { currentKeyId: 'k', open: async (text) => text },
        engines: createEngines(),
        compile: compileQuery,
        createWriter: createResponseWriter,
      },
    );
  });
  afterAll(async () => {
    await service?.close(1_000);
    await operator?.close();
  });

  const run = async (queryId: string, context: object = {}, signal?: AbortSignal): Promise<string> => {
    const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
    const ctx = createCallContext({ timeoutMs: 20_000, principal });
    const chunks: Buffer[] = [];
    const reply = { chunk: (bytes: Buffer) => chunks.push(bytes) > 0, onDrain: () => {} };
    const request = { queryId, contextJson: JSON.stringify(context), format: Format.FORMAT_JSON };
    await service.executor.execute(request, signal ? { ...ctx, signal } : ctx, reply);
    return Buffer.concat(chunks).toString();
  };

  test('answers rows', async () => {
    expect(JSON.parse(await run('s.rows', { ids: [2, 3, 9] }))).toEqual({
      data: [
        { id: 2, label: "o'hara" },
        { id: 3, label: null },
      ],
    });
  });

  test('an error has its position in the stored text', async () => {
    const failure = await run('s.wrong', { id: 1 }).catch((err) => err);
    expect(failure).toMatchObject({ code: 'SQL_REJECTED', stage: 'execute' });
    expect(failure.sql?.line ?? 1).toBe(1);
  });

  test('no statement keeps running after callers leave at random times', async () => {
    const leaving = Array.from({ length: scaled(60, 200) }, async (_, i) => {
      const caller = new AbortController();
      setTimeout(() => caller.abort(), i * 8 * Math.random());
      await run('s.hang', {}, caller.signal).catch(() => {});
    });
    await Promise.all(leaving);
    const left = async () => {
      expect(await operator.running()).toBe(0);
      expect(await operator.sessions()).toBeLessThanOrEqual(10);
    };
    // They would run for minutes.
    await vi.waitFor(left, { timeout: 60_000, interval: 50 });
    expect(await run('s.one')).toContain('1');
  });

  test('a source with 200 hanging executions does not delay other sources', async () => {
    await run('t.one');
    const callers = Array.from({ length: 200 }, () => new AbortController());
    const hanging = callers.map((caller) => run('s.hang', {}, caller.signal).catch((err) => err.code));
    let over = 0;
    for (const one of hanging) one.then(() => over++);
    await vi.waitFor(async () => expect(await operator.running()).toBeGreaterThan(0), { timeout: 60_000 });
    for (let i = 0; i < 100; i++) await run('t.one');
    // They did not have to end first.
    expect(over).toBe(0);
    for (const caller of callers) caller.abort();
    const codes = await Promise.all(hanging);
    expect(new Set(codes)).toEqual(new Set(['CANCELLED']));
  });

  test('failing executions keep their connections', async () => {
    await run('u.one');
    const before = await operator.sessions();
    for (let i = 0; i < scaled(1_000, 10_000); i++) await run('u.wrong', { id: i }).catch(() => {});
    expect(await operator.sessions()).toBeLessThanOrEqual(before);
  });

  test('after its sessions were killed, reads continue and no write runs twice', async () => {
    let written = 0;
    for (let i = 0; i < 20; i++) {
      await run('s.one');
      await operator.killAll();
      expect(await run('s.one')).toContain('1');
      await operator.killAll();
      await run('s.insert', { id: i }).then(
        () => written++,
        (err) => expect(['OUTCOME_UNKNOWN', 'SOURCE_UNREACHABLE']).toContain(err.code),
      );
    }
    const [{ n }] = (await operator.query(`SELECT count(*) AS n FROM ${table}_log`)) as [{ n: unknown }];
    expect(Number(n)).toBe(written);
  });

  test('refused log-ins are reported, paused after five, and tried at once when corrected', async () => {
    for (let i = 0; i < 5; i++)
      await expect(run('wrong.one')).rejects.toMatchObject({ code: 'SOURCE_AUTH', retryAfterMs: undefined });
    const paused = await run('wrong.one').catch((err) => err);
    expect(paused).toMatchObject({ code: 'SOURCE_AUTH', stage: 'connect' });
    expect(paused.retryAfterMs).toBeGreaterThan(50_000);
    corrected.add(server.engine);
    // The lease of the definition is one second.
    await vi.waitFor(async () => expect(await run('wrong.one')).toContain('1'), { timeout: 60_000 });
  });
});

if (servers.every(({ url }) => url === undefined)) test.skip('needs POSTGRES_URL, MARIADB_URL or MYSQL_URL');
