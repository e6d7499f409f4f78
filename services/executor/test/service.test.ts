import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { ResolveQueryResponse } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { Format } from '@datahub/proto/executor/v1/executor';
import { generateKeyPair } from '@datahub/sealing/key-pair';
import { createOpener } from '@datahub/sealing/opener';
import { createSealer } from '@datahub/sealing/sealer';
import { createCallContext } from '@datahub/service-kit/call/call';
import { readSettings } from '@datahub/service-kit/settings/settings';
import { createLogger, type Logger } from '@datahub/service-kit/telemetry/logger';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readExecutorConfig } from '../src/config.ts';
import { bindingOf } from '../src/credentials/unseal.ts';
import type { Catalog } from '../src/definitions/definition.ts';
import { toSourceDefinition } from '../src/definitions/definition.ts';
import type { Connection, ConnectSettings, Engine, SourceFacts, Statement } from '../src/ports/engine.ts';
import type { ResponseWriter } from '../src/result/response.ts';
import { type ExecutorService, openExecutor } from '../src/service.ts';
import { forEachEngine } from './fakes/engines.ts';
import { source as plain } from './fakes/pipeline.ts';
import { leaseAny } from './fakes/slots.ts';
import { unlimitedLogins } from './unlimited-logins.ts';

/** An engine over a real socket, so that the real dialling rules apply. A statement's answer is its own text. */
function createLineEngine(seen: ConnectSettings[], learnt: (SourceFacts | undefined)[]): Engine {
  return {
    connect: async (settings, { dial, signal, facts }) => {
      const socket = await dial(settings.host, settings.port, { signal });
      seen.push(settings);
      learnt.push(facts);
      let text = '';
      const connection = {
        serverVersion: '15.0',
        get broken() {
          return socket.destroyed;
        },
        onClose: (listener: () => void) => void socket.once('close', listener),
        run: async (statement: Statement) => {
          socket.write(statement.text);
          text = String((await once(socket, 'data'))[0]);
          return { hasRows: true, affectedRows: text.length };
        },
        cancel: async () => {},
        ping: async () => {},
        describe: async () => ({
          columns: [
            {
              name: 'id',
              type: 'int4',
              nullable: false,
              kind: {
                is: 'integer' as const,
                bits: 32 as const,
                isUnsigned: false,
                bytes: 'digits' as const,
              },
            },
          ],
          parameters: [],
        }),
        readSchema: async () => ({
          tables: [{ schema: 'public', name: 't', kind: 'table' as const, ...noColumns }],
        }),
        close: () => void socket.destroy(),
      };
      return connection satisfies Connection;
    },
  };
}

const noColumns = { columns: [], primaryKey: [], foreignKeys: [] };

const principal: Principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
const ctx = () => createCallContext({ timeoutMs: 60_000, principal });

let server: Server;
let sockets: Socket[] = [];
let opened: ExecutorService[] = [];
beforeEach(async () => {
  sockets = [];
  server = createServer((socket) => {
    sockets.push(socket);
    socket.pipe(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(async () => {
  await Promise.all(opened.map((service) => service.close(100)));
  opened = [];
  server.close();
});

const silent = createLogger({ service: 'executor', level: 'silent', pretty: false });

async function setup(env: Record<string, string> = {}, logger: Logger = silent) {
  const { publicKey, privateKey } = await generateKeyPair();
  const seal = await createSealer([publicKey]);
  const answer = await makeAnswer((server.address() as AddressInfo).port, seal);
  const catalog = {
    asked: 0,
    saved: [] as object[],
    news: (_ids: string[]) => {},
    deleted: undefined as undefined | ((ids: string[]) => void),
  };
  const calls: Catalog = {
    resolveQuery: async () => {
      catalog.asked++;
      return structuredClone(answer);
    },
    resolveSource: async () => ({ source: structuredClone(answer.source), leaseMs: 0 }),
    resolveDraft: async () => structuredClone(answer),
    saveSignature: async (request) => {
      catalog.saved.push(request);
      return {};
    },
    takeSourceCheck: async () => ({ taken: false, queryIds: [] }),
    listSealed: async () => ({ sources: [] }),
    ...unlimitedLogins,
    reseal: async () => ({ done: true, moreDone: [] }),
    takeDeliveries: async () => ({ deliveries: [], lagMs: 0 }),
    endDelivery: async () => ({}),
    noteSource: async () => ({}),
    recordRuns: async () => ({}),
    noteCommit: async () => ({}),
    listSealedSecrets: async () => ({ secrets: [] }),
    resealSecrets: async () => ({ done: false }),
  };
  const seen: ConnectSettings[] = [];
  const learnt: (SourceFacts | undefined)[] = [];
  const service = openExecutor(
    readSettings(env, (reader) => readExecutorConfig(reader, { embedded: true })),
    {
      logger,
      catalog: calls,
      leaseSlots: leaseAny,
      follow: ({ invalidate, onDeleted }) => {
        catalog.news = invalidate;
        catalog.deleted = onDeleted;
        return { close: async () => {} };
      },
      opener: await createOpener([privateKey]),
      engines: forEachEngine(createLineEngine(seen, learnt)),
      compile: ({ text }) => ({
        kind: 'read',
        names: [],
        uncounted: false,
        usesClaim: () => false,
        bind: () => ({ key: text, text, params: [], kind: 'read' }),
        describable: () => [{ key: text, text, params: [], kind: 'read', placeholders: [] }],
        columnFacts: () => ({
          keepsNotNull: true,
          keptTables: new Set(),
          kept: [],
          neverNull: [],
          variables: [],
          functions: new Set(),
        }),
        warnings: () => [],
        variables: () => [{ key: 'x', type: 'int4', list: false, nullable: true }],
        mapLocation: (fault) => fault,
        nameVariables: (message) => message,
      }),
      createWriter: ({ reply }): ResponseWriter => ({
        rowCount: 4,
        truncated: false,
        takesDocuments: true,
        takesBinary: false,
        begin: () => {},
        row: () => {},
        document: () => {},
        full: false,
        onDrain: () => {},
        abandon: () => {},
        turnToFinish: () => undefined,
        finish: (outcome) => void reply.chunk(Buffer.from(`${outcome.affectedRows} rows`)),
      }),
    },
  );
  opened.push(service);
  const execute = async () => {
    const chunks: Buffer[] = [];
    const reply = { chunk: (bytes: Buffer) => chunks.push(bytes) > 0, onDrain: () => {} };
    await service.executor.execute(
      { queryId: 'q', contextJson: '', format: Format.FORMAT_JSON },
      ctx(),
      reply,
    );
    return Buffer.concat(chunks).toString();
  };
  return { service, execute, answer, catalog, seen, learnt };
}

async function makeAnswer(
  port: number,
  seal: Awaited<ReturnType<typeof createSealer>>,
): Promise<ResolveQueryResponse> {
  const source = { ...plain, host: 'localhost', port, sealed: { ...plain.sealed } };
  const definition = toSourceDefinition(source);
  source.sealed.user = await seal('jo', bindingOf(definition, 'user'));
  source.sealed.password = await seal('s3cret', bindingOf(definition, 'password'));
  const query = {
    queryId: 'q',
    accountId: 'a',
    hubId: 'h',
    command: 'SELECT',
    query: 'four',
    context: [],
    notNull: [],
    version: 1,
  };
  return { query, source, leaseMs: 60_000 };
}

test('a stored query runs at a checked address with decrypted credentials, and is resolved once', async () => {
  const { execute, seen, catalog } = await setup();
  expect(await execute()).toBe('4 rows');
  expect(await execute()).toBe('4 rows');
  expect(seen).toMatchObject([{ host: 'localhost', user: 'jo', password: 's3cret' }]);
  expect(catalog.asked).toBe(1);
});

test('counts calls until the query is deleted, also after it was changed', async () => {
  const { service, execute, catalog } = await setup();
  const counted = async () => {
    const { queries } = await service.executor.readStatistics({ queryIds: [] }, ctx());
    return queries.map(({ queryId, lastHour }) => [queryId, lastHour?.calls, lastHour?.rows]);
  };
  await execute();
  catalog.news(['q']);
  await execute();
  expect(await counted()).toEqual([['q', 2, 8]]);
  catalog.deleted?.(['q']);
  expect(await counted()).toEqual([]);
});

test('a change applies as soon as the definition is invalidated', async () => {
  const { execute, answer, catalog } = await setup();
  await execute();
  Object.assign(answer.query as object, { query: 'longer', version: 2 });
  catalog.news(['q']);
  expect(await execute()).toBe('6 rows');
});

test('facts that a connection detects about its server are kept until the settings of the source change', async () => {
  const { service, execute, answer, catalog, learnt } = await setup();
  const connectAgain = async (change: object = {}) => {
    Object.assign(answer.source as object, change);
    catalog.news(['q']);
    for (const socket of sockets.splice(0)) socket.destroy();
    await vi.waitFor(
      () => expect(service.metrics()).toContain('datahub_pool_connections{state="idle"} 0'),
      60_000,
    );
    await execute();
  };
  await execute();
  await connectAgain();
  await connectAgain({ settingsVersion: '2', version: 2 });
  expect(learnt).toHaveLength(3);
  expect(learnt[0]).toBeDefined();
  expect(learnt[1]).toBe(learnt[0]);
  expect(learnt[2]).not.toBe(learnt[0]);
});

test('loopback is refused if it is not allowed, with the same error as a closed port', async () => {
  const refused = await setup({ DATAHUB_SOURCES_LOOPBACK: '0' });
  const closed = await setup();
  server.close();
  const errors = await Promise.all(
    [refused.execute(), closed.execute()].map((run) => run.catch((err) => err)),
  );
  expect(errors[0]).toMatchObject({ code: 'SOURCE_UNREACHABLE', stage: 'connect', retryable: true });
  expect({ ...errors[0], message: errors[0].message, stack: '' }).toEqual({
    ...errors[1],
    message: errors[1].message,
    stack: '',
  });
});

test('credentials that were moved to another address cannot be decrypted', async () => {
  const { execute, answer, seen } = await setup();
  Object.assign(answer.source as object, { host: '127.0.0.1' });
  await expect(execute()).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: false });
  expect(seen).toEqual([]);
});

test('an unknown engine is reported', async () => {
  const { execute, answer } = await setup();
  Object.assign(answer.source as object, { engine: 'mysql' });
  await expect(execute()).rejects.toMatchObject({ code: 'UNAVAILABLE', stage: 'connect' });
});

test('the version and the tables of a source can be read', async () => {
  const { service } = await setup();
  expect(await service.executor.testSource({ sourceId: 's' }, ctx())).toEqual({
    latencyMs: expect.any(Number),
    serverVersion: '15.0',
  });
  expect(await service.executor.readSchema({ sourceId: 's' }, ctx())).toEqual({
    tables: [{ schema: 'public', name: 't', kind: 'table', ...noColumns }],
  });
});

test('the signature of a query is stored with its version', async () => {
  const { service, catalog } = await setup();
  const described = await service.executor.describeQuery({ queryId: 'q' }, ctx());
  expect(described).toEqual({
    columns: [{ name: 'id', type: 'int4', nullable: false, jsonType: 'number' }],
    variables: [{ key: 'x', type: 'int4', list: false, nullable: true }],
    checkedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    version: 1,
  });
  const signatureJson = JSON.stringify(described);
  expect(catalog.saved).toEqual([{ queryId: 'q', version: 1, settingsVersion: '1', signatureJson }]);
});

test('a key that is limited to other queries cannot describe the query', async () => {
  const { service, catalog } = await setup();
  const limits = {
    hubIds: [],
    queryIds: ['other'],
    classifierIds: [],
    queries: [],
    origins: [],
    contextJson: '',
  };
  const limited = createCallContext({ timeoutMs: 60_000, principal: { ...principal, limits } });
  await expect(service.executor.describeQuery({ queryId: 'q' }, limited)).rejects.toMatchObject({
    code: 'SCOPE_DENIED',
  });
  expect(catalog.saved).toEqual([]);
});

test('metrics count the executions, and closing ends everything', async () => {
  const { service, execute } = await setup();
  await execute();
  const text = service.metrics();
  expect(text).toContain('datahub_execution_duration_seconds_count{engine="postgres",code="OK"} 1');
  expect(text).toContain('datahub_source_connects_total{engine="postgres",code="OK"} 1');
  expect(text).toContain('datahub_pool_connections{state="idle"} 1');
  await service.close(100);
  await expect(execute()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test("an issuer that cannot be reached is logged as its account's fault, and not as a failure of the hub", async () => {
  const lines: object[] = [];
  const info = (line: object) => lines.push(line);
  const { service } = await setup({}, { ...silent, info } as Logger);
  const issuer = 'https://localhost:1';
  const failure = await service.executor.fetchIssuerKeys({ issuer }, ctx()).catch((err) => err);
  expect(failure).toMatchObject({ code: 'UNAVAILABLE', stage: 'connect', retryable: true });
  // What has a cause is logged as unexpected by the server.
  expect(failure.cause).toBeUndefined();
  const { accountId } = principal;
  expect(lines).toMatchObject([{ event: 'issuer.failed', accountId, cause: expect.anything() }]);
});

test('eight fetches of issuers of an account run at once, and the others in turn', async () => {
  const { service } = await setup();
  server.removeAllListeners('connection').on('connection', (socket) => sockets.push(socket));
  const jwksUrl = `https://localhost:${(server.address() as AddressInfo).port}/`;
  const fetches = Array.from({ length: 12 }, (_, i) =>
    service.executor.fetchIssuerKeys({ issuer: `i${i}`, jwksUrl }, ctx()).catch((err) => err.code),
  );
  await vi.waitFor(() => expect(sockets).toHaveLength(8));
  await new Promise((resolve) => setTimeout(resolve, 100));
  for (let begun = 8; begun < 12; begun++) {
    expect(sockets).toHaveLength(begun);
    sockets[begun - 8]?.destroy();
    await vi.waitFor(() => expect(sockets.length).toBeGreaterThan(begun));
  }
  for (const socket of sockets) socket.destroy();
  expect(await Promise.all(fetches)).toEqual(Array(12).fill('UNAVAILABLE'));
});
