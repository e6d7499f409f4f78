/** The executions of one account do not wait while the host names of another account's sources never resolve. */

import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ResolveQueryResponse } from '@datahub/proto/catalog/v1/catalog_internal';
import { Format } from '@datahub/proto/executor/v1/executor';
import { type CallSignal, createCallContext } from '@datahub/service-kit/call/call';
import { readSettings } from '@datahub/service-kit/settings/settings';
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
/** An execution that waited for a name of the other account would wait this long. */
const longWaits = {
  DATAHUB_CONNECT_TIMEOUT_MS: '50000',
  DATAHUB_POOL_WAIT_MS: '60000',
  DATAHUB_STATEMENT_TIMEOUT_MS: '300000',
};
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
  takeDeliveries: async () => ({ deliveries: [], lagMs: 0 }),
  endDelivery: async () => ({}),
  noteSource: async () => ({}),
  recordRuns: async () => ({}),
  noteCommit: async () => ({}),
  listSealedSecrets: async () => ({ secrets: [] }),
  resealSecrets: async () => ({ done: false }),
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
    const queryNameServers = createNameServerQuery([names.at]);
    const never = new Promise<never>(() => {});
    const aborted = (signal: CallSignal) =>
      new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
      );
    const querySystem = async (host: string) => (host.startsWith('hangs') ? never : ['127.0.0.1']);
    service = openExecutor(
      readSettings(longWaits, (reader) => readExecutorConfig(reader, { embedded: true })),
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
          queryNameServers: (host, signal) =>
            host.startsWith('slow') ? aborted(signal) : queryNameServers(host, signal),
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
    const ctx = createCallContext({ timeoutMs: 600_000, principal });
    const request = {
      queryId: `${accountId}/${host}/${sources++}`,
      contextJson: '{}',
      format: Format.FORMAT_JSON,
    };
    const reply = { chunk: () => true, onDrain: () => {} };
    await service.executor.execute(request, signal ? { ...ctx, signal } : ctx, reply);
  };

  test('200 hanging names of one account do not hold up another account, also with compression', async () => {
    const leaving = new AbortController();
    const compressed = Buffer.alloc(200_000, 'a row of an answer, ');
    const compressing = (async () => {
      for (; !leaving.signal.aborted; await sleep(20)) await promisify(gzip)(compressed);
    })();
    let over = 0;
    const hanging = Array.from({ length: 200 }, (_, i) => {
      const host = i % 2 === 0 ? `slow${i}.example` : `hangs${i}.example`;
      return run('attacker', host, leaving.signal).then(
        () => over++,
        () => over++,
      );
    });
    // Each execution needs a new connection.
    for (const host of ['db', 'inthefile', 'onlythesystemknows', '127.0.0.1'])
      for (let i = 0; i < scaled(10, 100); i++) await run('victim', host);
    expect(over).toBe(0);
    leaving.abort();
    await Promise.all([compressing, ...hanging]);
  });
});
