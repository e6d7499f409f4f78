import { randomBytes } from 'node:crypto';
import { mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { ExecutorServiceService } from '@datahub/proto/executor/v1/executor';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { type Collector, startCollector } from '../support/collector.ts';
import { createRawCaller, type Method } from '../support/grpc.ts';
import { scaled } from '../support/scale.ts';
import { createCanary } from './support/canary.ts';
import { fuzzedRequest } from './support/fuzz.ts';

const { POSTGRES_URL, MARIADB_URL, MYSQL_URL } = process.env;
const urls = { postgres: POSTGRES_URL, mariadb: MARIADB_URL, mysql: MYSQL_URL };
const canary = createCanary();
const noPem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
type Settings = Record<string, unknown>;

it('a canary is found in every encoding', () => {
  const { user, password } = canary;
  for (const text of [user, password]) {
    for (const form of [
      text,
      JSON.stringify({ text }),
      encodeURIComponent(text),
      Buffer.from(text).toString('hex'),
      Buffer.from(text).toString('base64'),
      Buffer.from(`u:${text}`).toString('base64url'),
      Buffer.from(`us:${text}`).toString('base64'),
    ]) {
      expect(canary.find(form)).not.toEqual([]);
      expect(canary.find(Buffer.from(`x${form}y`))).not.toEqual([]);
    }
  }
  expect(canary.find('us******** p********')).toEqual([]);
});

/** Bastions with the canary as their password, one of which accepts connections. */
const bastions = (port: number): Record<string, Settings> => {
  const ssh = { host: '127.0.0.1', user: 'hub', password: canary.password };
  const hostKey = `SHA256:${'A'.repeat(43)}`;
  return {
    'a closed bastion': { ssh: { ...ssh, hostKey, port: 1 } },
    'a bastion that echoes': { ssh: { ...ssh, hostKey, port } },
  };
};

/** Starts a server that echoes all data. */
function startEcho(): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => {}).pipe(socket));
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/** Runs statements at the databases. They create users with these names, so that log-ins get as far as possible. */
async function inDatabases(postgres: string[], mysqlAndMariadb: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: POSTGRES_URL as string });
  await client.connect();
  for (const statement of postgres) await client.query(statement);
  await client.end();
  for (const url of [MARIADB_URL, MYSQL_URL]) {
    if (url === undefined) continue;
    const { hostname: host, port, username: user, password } = new URL(url);
    const connection = await mysql.createConnection({ host, port: Number(port), user, password });
    for (const statement of mysqlAndMariadb) await connection.query(statement);
    await connection.end();
  }
}

const createUsers = () =>
  inDatabases(
    [`CREATE ROLE "${canary.user}" LOGIN PASSWORD '${canary.password}'`],
    [
      `CREATE USER '${canary.user}'@'%' IDENTIFIED BY '${canary.password}'`,
      `GRANT ALL ON *.* TO '${canary.user}'@'%'`,
    ],
  );
const dropUsers = () =>
  inDatabases([`DROP ROLE IF EXISTS "${canary.user}"`], [`DROP USER IF EXISTS '${canary.user}'@'%'`]);

describe.skipIf(!POSTGRES_URL)('a source’s user, password and key (needs POSTGRES_URL)', () => {
  let dir: string;
  let hub: DistributedHub;
  let api: Api;
  let hubId: string;
  let collector: Collector;
  let echo: Server;
  let sources: Record<string, string>;
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  const serviceToken = randomBytes(32).toString('hex');
  const hits = new Map<string, string[]>();
  /** The sizes of everything that was searched, so that an empty search fails the test. */
  const looked = new Map<string, number>();

  const look = (where: string, text: string | Buffer) => {
    looked.set(where, (looked.get(where) ?? 0) + text.length);
    const found = canary.find(text);
    if (found.length > 0) hits.set(where, [...found, String(text).slice(0, 300)]);
  };
  const send: Api['call'] = async (...request) => {
    const answer = await api.call(...request);
    look('answers', answer.text + JSON.stringify([...answer.headers]));
    return answer;
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-canary-'));
    collector = await startCollector();
    echo = await startEcho();
    const log = await open(join(dir, 'log'), 'a');
    const env = {
      PORT: '0',
      DATAHUB_METRICS_PORT: '0',
      DATAHUB_DATA_DIR: join(dir, 'data'),
      DATAHUB_API_KEY: key,
      DATAHUB_SERVICE_TOKEN: serviceToken,
      DATAHUB_LOG_LEVEL: 'trace',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '200',
    };
    hub = await startDistributed(env, log.fd);
    await log.close();
    await createUsers();
    api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
    hubId = (await api.ok(api.post('/v1/hubs', { label: 'canary' }))).hubId;
    sources = await createFailingSources();
  });

  afterAll(async () => {
    await hub?.close();
    collector?.close();
    echo?.close();
    await dropUsers();
    await rm(dir, { recursive: true, force: true });
  });

  async function createFailingSources(): Promise<Record<string, string>> {
    const ids: Record<string, string> = {};
    const { port: echoPort } = echo.address() as { port: number };
    for (const [engine, url] of Object.entries(urls)) {
      if (url === undefined) continue;
      const { hostname: host, port, pathname } = new URL(url);
      const good = { host, port: Number(port), database: pathname.slice(1) };
      const faults: Record<string, Settings> = {
        'a closed port': { port: 1 },
        'a host that policy refuses': { host: '169.254.169.254' },
        'an unknown host': { host: 'nowhere.invalid' },
        'a wrong password': { user: 'nobody-known' },
        'a wrong user': { user: `${canary.user}x` },
        'a wrong database': { database: 'no_such_database' },
        'a certificate of an unknown authority': { tls: { mode: 'verify-full' } },
        'an invalid CA': { tls: { mode: 'verify-full', ca: noPem } },
        'an invalid key': { tls: { mode: 'require', cert: noPem, key: canary.tlsKey } },
        ...bastions(echoPort),
        nothing: {},
        // If neither side sends first, each attempt takes the whole time limit.
        ...scaled<Record<string, Settings>>(engine === 'postgres' ? { 'an echo': { port: echoPort } } : {}, {
          'an echo': { port: echoPort },
          'a host that never answers': { host: '192.0.2.1' },
        }),
      };
      for (const [fault, change] of Object.entries(faults)) {
        const { user, password } = canary;
        const connectionSettings = { ...good, user, password, ...change };
        const made = await send('POST', '/v1/sources', {
          body: { hubId, label: fault, engine, connectionSettings },
        });
        expect(made.status, made.text).toBe(200);
        ids[`${engine} with ${fault}`] = made.body.sourceId;
      }
    }
    return ids;
  }

  it('are not in errors of failing connections, over HTTP or between the services', async () => {
    const executor = createRawCaller(hub.addresses.executor, serviceToken);
    const catalog = createRawCaller(hub.addresses.catalog, serviceToken);
    const { body: audit } = await api.get('/v1/audit?limit=1');
    expect(audit).toHaveLength(1);
    const principal: Principal = {
      accountId: await accountIdOf(),
      keyId: audit[0].keyId,
      scopes: ['*'],
      limits: undefined,
    };
    const raw = async (caller: typeof executor, method: unknown, request: object) => {
      const answer = await caller.call(method as Method, request, principal);
      look('gRPC statuses', Object.values(answer).join('\n') + Buffer.from(answer.detail, 'base64'));
      return answer;
    };
    const told: Record<string, string> = {};
    const query = 'SELECT CAST(CURRENT_USER AS DECIMAL) + 1 / 0 AS x';
    // On a busy machine, log-ins to all of them at once can take longer than a source's time limit.
    const askAll = async (engine: string) => {
      for (const [name, sourceId] of Object.entries(sources)) {
        if (!name.startsWith(`${engine} `)) continue;
        const stored = await send('POST', '/v1/queries', { body: { hubId, sourceId, label: 'q', query } });
        const { queryId } = stored.body.config.query;
        const executed = await send('POST', '/v1/queries/execute', { body: { queryId } });
        told[name] = executed.body.code ?? 'executed';
        await send('POST', `/v1/sources/${sourceId}/test`);
        await send('GET', `/v1/sources/${sourceId}/schema`);
        await send('GET', `/v1/sources/${sourceId}`);
        await raw(executor, ExecutorServiceService.execute, { queryId, contextJson: '', format: 1 });
        await raw(executor, ExecutorServiceService.testSource, { sourceId });
        await raw(executor, ExecutorServiceService.readSchema, { sourceId });
        await raw(executor, ExecutorServiceService.describeQuery, { queryId });
        await raw(executor, ExecutorServiceService.checkQuery, { sourceId, query, notNull: [] });
        await raw(catalog, CatalogServiceService.getSource, { sourceId });
        await raw(catalog, CatalogServiceService.updateSource, {
          sourceId,
          moreVersions: [],
          connectionSettings: { host: 'x', port: 99_999, user: canary.user },
        });
      }
    };
    await Promise.all(Object.keys(urls).map(askAll));
    executor.close();
    catalog.close();
    const codes = (name: string) =>
      Object.entries(told)
        .filter(([one]) => one.endsWith(`with ${name}`))
        .map(([, code]) => code);
    for (const name of ['a closed port', 'a host that policy refuses', 'an unknown host'])
      expect(new Set(codes(name))).toEqual(new Set(['SOURCE_UNREACHABLE']));
    for (const name of ['a wrong password', 'a wrong user'])
      expect(new Set(codes(name))).toEqual(new Set(['SOURCE_AUTH']));
    expect([...hits]).toEqual([]);
  }, 600_000);

  async function accountIdOf(): Promise<string> {
    const { body } = await api.get(`/v1/sources/${Object.values(sources)[0]}`);
    return body.accountId;
  }

  it('are not in answers to invalid requests', async () => {
    const count = scaled(500, 5_000);
    const statuses = new Map<number, number>();
    const [sourceId] = Object.values(sources) as [string];
    let next = 0;
    const worker = async () => {
      while (next < count) {
        const { status } = await send(...fuzzedRequest(canary, { hubId, sourceId }));
        next++;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    console.log(`${count} requests: ${JSON.stringify(Object.fromEntries(statuses))}`);
    expect([...statuses.keys()].filter((status) => status === 500)).toEqual([]);
    expect(statuses.get(400)).toBeGreaterThan(count / 4);
    expect([...hits]).toEqual([]);
  }, 300_000);

  it('are not in logs, metrics, traces, the process list or files of the hub', async () => {
    const ports = [hub.metricsPort, ...hub.executorMetricsPorts, ...hub.catalogMetricsPorts];
    for (const port of ports.filter(Boolean)) {
      look('metrics', await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
    look('traces', collector.texts.join('\n'));
    for (const pid of hub.pids.filter(() => process.platform === 'linux')) {
      for (const file of ['cmdline', 'environ']) look('processes', await readFile(`/proc/${pid}/${file}`));
    }
    look('log', await readFile(join(dir, 'log')));
    for (const entry of await readdir(join(dir, 'data'), { withFileTypes: true })) {
      if (entry.isFile()) look('files', await readFile(join(dir, 'data', entry.name)));
    }
    console.log(Object.fromEntries(looked));
    expect([...hits]).toEqual([]);
    for (const [where, bytes] of looked) expect(bytes, where).toBeGreaterThan(1_000);
    const wanted = ['answers', 'gRPC statuses', 'metrics', 'traces', 'log', 'files'];
    if (process.platform === 'linux') wanted.push('processes');
    expect([...looked.keys()].sort()).toEqual(wanted.sort());
  });
});
