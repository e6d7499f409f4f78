/** Measures the executions of one account while the host names of another account's sources do not resolve. */

import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ResolveQueryResponse } from '@datahub/proto/catalog/v1/catalog_internal';
import { Format } from '@datahub/proto/executor/v1/executor';
import { createCallContext } from '@datahub/service-kit/call/call';
import { readSettings } from '@datahub/service-kit/process/settings';
import { createLogger } from '@datahub/service-kit/telemetry/logger';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scaled } from '../../../tests/support/scale.ts';
import { readExecutorConfig } from '../src/config.ts';
import type { Catalog } from '../src/definitions/definition.ts';
import { createEngines } from '../src/engines/index.ts';
import { compileQuery } from '../src/execution/prepare.ts';
import { createNameServerQuery, createResolve } from '../src/network/resolver.ts';
import { createResponseWriter } from '../src/result/response-writer.ts';
import { type ExecutorService, openExecutor } from '../src/service.ts';
import { leaseAny } from './fakes/slots.ts';
import { type NameServer, startNameServer } from './network/name-server.ts';
import { unlimitedLogins } from './unlimited-logins.ts';

const url = process.env.POSTGRES_URL;
const server = new URL(url ?? 'postgres://none');

/** Returns the definition of a query whose id is `<account>/<host>/<number of the source>`. */
function definitionOf(queryId: string): ResolveQueryResponse {
  const [accountId = '', host = '', sourceId = ''] = queryId.split('/');
  return {
    query: {
      queryId,
      accountId,
      hubId: 'h',
      command: 'SELECT',
      query: 'SELECT 1',
      context: [],
      notNull: [],
      version: 1,
    },
    source: {
      sourceId: `${accountId}-${sourceId}`,
      accountId,
      hubId: 'h',
      engine: 'postgres',
      host,
      port: Number(server.port),
      database: server.pathname.slice(1),
      tls: { mode: 'disable' },
      sealed: { user: server.username, password: server.password, tlsKey: '' },
      pool: {},
      settingsVersion: '1',
      version: 1,
    },
    leaseMs: 1_000,
  };
}

const catalog: Catalog = {
  resolveQuery: async ({ queryId }) => definitionOf(queryId),
  resolveSource: async () => ({ source: undefined, leaseMs: 0 }),
  resolveDraft: async () => ({ query: undefined, source: undefined, leaseMs: 0 }),
  saveSignature: async () => ({}),
  takeSourceCheck: async () => ({ taken: false, queryIds: [] }),
  listSealed: async () => ({ sources: [] }),
  ...unlimitedLogins,
  reseal: async () => ({ done: false, moreDone: [] }),
};

describe.skipIf(url === undefined)('names of sources (needs POSTGRES_URL)', () => {
  let names: NameServer;
  let service: ExecutorService;
  let sources = 0;

  beforeAll(async () => {
    names = await startNameServer({ 'db.shop.example A': [[127, 0, 0, 1]] });
    const localNames = {
      addressesOf: (host: string) => (host === 'inthefile' ? ['127.0.0.1'] : []),
      fullNamesOf: (host: string) => (host.includes('.') ? [host] : [`${host}.shop.example`, host]),
    };
    const querySystem = async (host: string) =>
      host.startsWith('hangs') ? new Promise<never>(() => {}) : ['127.0.0.1'];
    service = openExecutor(
      readSettings({}, (reader) => readExecutorConfig(reader, { embedded: true })),
      {
        logger: createLogger({ service: 'executor', level: 'silent', pretty: false }),
        catalog,
        follow: () => ({ close: async () => {} }),
        leaseSlots: leaseAny,
        opener: { currentKeyId: 'k', open: async (text) => decodeURIComponent(text) },
        engines: createEngines(),
        compile: compileQuery,
        createWriter: createResponseWriter,
        resolve: createResolve({
          localNames,
          queryNameServers: createNameServerQuery([names.at]),
          querySystem,
        }),
      },
    );
  });
  afterAll(async () => {
    await service?.close(0);
    names?.close();
  });

  const run = async (accountId: string, host: string, signal?: AbortSignal): Promise<void> => {
    const principal = { accountId, keyId: accountId, scopes: ['*'], limits: undefined };
    const ctx = createCallContext({ timeoutMs: 20_000, principal });
    const request = {
      queryId: `${accountId}/${host}/${sources++}`,
      contextJson: '{}',
      format: Format.FORMAT_JSON,
    };
    const reply = { chunk: () => true, onDrain: () => {} };
    await service.executor.execute(request, signal ? { ...ctx, signal } : ctx, reply);
  };

  /** The 99th percentile of executions, each of which needs a new connection. */
  const p99 = async (host: string): Promise<number> => {
    const took: number[] = [];
    const count = scaled(30, 100);
    for (let i = 0; i < count; i++) {
      const began = performance.now();
      await run('victim', host);
      took.push(performance.now() - began);
    }
    return took.toSorted((a, b) => a - b)[Math.ceil(count * 0.99) - 1] as number;
  };

  test('200 hanging names of one account do not slow down another account, also with compression', async () => {
    const hosts = ['db', 'inthefile', 'onlythesystemknows', '127.0.0.1'];
    for (const host of hosts) await run('victim', host);
    const leaving = new AbortController();
    const keepOn = async (work: () => Promise<unknown>) => {
      while (!leaving.signal.aborted) {
        await work();
        await sleep(20);
      }
    };
    const compressed = Buffer.alloc(200_000, 'a row of an answer, ');
    const compressing = keepOn(() => promisify(gzip)(compressed));
    const alone: number[] = [];
    for (const host of hosts) alone.push(await p99(host));
    const hanging = Array.from({ length: 200 }, (_, i) => {
      const host = i % 2 === 0 ? `slow${i}.example` : `hangs${i}.example`;
      return keepOn(() => run('attacker', host, leaving.signal).catch(() => {}));
    });
    const beside: number[] = [];
    for (const host of hosts) beside.push(await p99(host));
    leaving.abort();
    await Promise.all([compressing, ...hanging]);
    // A busy machine can need this long. Without fair scheduling, each would take the connect timeout of 4.5 s.
    const floorMs = scaled(1_000, 300);
    for (const [i, ms] of beside.entries())
      expect(ms, hosts[i]).toBeLessThan(Math.max(2 * (alone[i] as number), floorMs));
  }, 60_000);
});
