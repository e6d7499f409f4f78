import {
  CatalogInternalServiceService,
  type LeaseSlotsRequest,
} from '@datahub/proto/catalog/v1/catalog_internal';
import { ExecutorServiceService, Format } from '@datahub/proto/executor/v1/executor';
import { generateKeyPair } from '@datahub/sealing/key-pair';
import { createSealer } from '@datahub/sealing/sealer';
import { createCallContext } from '@datahub/service-kit/call/call';
import { createGrpcClient } from '@datahub/service-kit/grpc/client';
import { startGrpcServer } from '@datahub/service-kit/grpc/server';
import { expect, test } from 'vitest';
import { bindingOf } from '../src/credentials/unseal.ts';
import { toSourceDefinition } from '../src/definitions/definition.ts';
import { startExecutorProcess } from '../src/process.ts';
import { forEachEngine } from './fakes/engines.ts';
import { source as plain } from './fakes/pipeline.ts';
import { unlimitedLogins } from './unlimited-logins.ts';

const token = 't'.repeat(32);
const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };

/** A catalog over gRPC with one query, whose source cannot be reached. */
async function startCatalog(publicKey: string, port = 0) {
  const seal = await createSealer([publicKey]);
  const source = { ...plain, host: '127.0.0.1', port: 9, sealed: { ...plain.sealed } };
  source.sealed.user = await seal('jo', bindingOf(toSourceDefinition(source), 'user'));
  source.sealed.password = await seal('s3cret', bindingOf(toSourceDefinition(source), 'password'));
  const query = {
    queryId: 'q',
    accountId: 'a',
    hubId: 'h',
    command: 'SELECT',
    query: 'x',
    context: [],
    notNull: [],
    version: 1,
  };
  const watchers: string[] = [];
  const server = await startGrpcServer({
    address: `127.0.0.1:${port}`,
    serviceTokens: [token],
    services: [
      {
        definition: CatalogInternalServiceService,
        handlers: {
          resolveQuery: async () => ({ query, source, leaseMs: 1_000 }),
          resolveSource: async () => ({ source, leaseMs: 0 }),
          watch: async function* (requests: AsyncIterable<{ instanceId: string }>) {
            yield { sequence: 0, instanceId: 'c', changed: [] };
            for await (const { instanceId } of requests) watchers.push(instanceId);
          },
          leaseSlots: async function* (requests: AsyncIterable<LeaseSlotsRequest>) {
            yield { epoch: 1, leaseMs: 60_000, changes: [] };
            for await (const { sources } of requests) {
              const changes = sources.map(({ sourceId, wanted }) => ({
                sourceId,
                granted: wanted,
                recalled: 0,
              }));
              yield { epoch: 1, leaseMs: 60_000, changes };
            }
          },
          ...unlimitedLogins,
          resolveDraft: async () => ({ query, source, leaseMs: 0 }),
          saveSignature: async () => ({}),
          takeSourceCheck: async () => ({ taken: false, queryIds: [] }),
          listSealed: async () => ({ sources: [] }),
          reseal: async () => ({ done: true, moreDone: [] }),
          takeDeliveries: async () => ({ deliveries: [], lagMs: 0 }),
          endDelivery: async () => ({}),
          noteSource: async () => ({}),
          recordRuns: async () => ({}),
          noteCommit: async () => ({}),
          listSealedSecrets: async () => ({ secrets: [] }),
          resealSecrets: async () => ({ done: false }),
        },
      },
    ],
  });
  return { server, watchers };
}

function environment(privateKey: string, catalogPort: number) {
  return {
    DATAHUB_GRPC_PORT: '0',
    DATAHUB_METRICS_PORT: '0',
    DATAHUB_SERVICE_TOKEN: token,
    DATAHUB_CATALOG_INTERNAL_ADDRESS: `127.0.0.1:${catalogPort}`,
    DATAHUB_SEALING_PRIVATE_KEYS: privateKey,
    DATAHUB_LOG_LEVEL: 'silent',
  };
}

const parts: Parameters<typeof startExecutorProcess>[1] = {
  engines: forEachEngine({
    connect: async ({ host, port: sourcePort }, { dial, signal }) => {
      await dial(host, sourcePort, { signal });
      throw new Error('The dial must have been refused.');
    },
  }),
  compile: () => ({
    kind: 'read',
    names: [],
    uncounted: false,
    usesClaim: () => false,
    bind: () => ({ key: 'x', text: 'x', params: [], kind: 'read' }),
    describable: () => [{ key: 'x', text: 'x', params: [], kind: 'read', placeholders: [] }],
    columnFacts: () => ({
      keepsNotNull: false,
      keptTables: new Set(),
      kept: [],
      neverNull: [],
      variables: [],
      functions: new Set(),
    }),
    warnings: () => [],
    variables: () => [],
    mapLocation: (fault) => fault,
    nameVariables: (message) => message,
  }),
  createWriter: () => {
    throw new Error('This catalog does not answer.');
  },
};

test('serves executions over gRPC, with the defaults of a separate process', async () => {
  const { publicKey, privateKey } = await generateKeyPair();
  const catalog = await startCatalog(publicKey);
  const running = await startExecutorProcess(environment(privateKey, catalog.server.port), parts);
  const client = createGrpcClient(ExecutorServiceService, {
    address: `127.0.0.1:${running.port}`,
    serviceToken: token,
  });
  const stranger = createGrpcClient(ExecutorServiceService, { address: `127.0.0.1:${running.port}` });
  const ctx = createCallContext({ timeoutMs: 60_000, principal });
  const request = { queryId: 'q', contextJson: '', format: Format.FORMAT_JSON };
  const answer = async (calls: typeof client.calls) => {
    for await (const _ of calls.execute(request, ctx));
  };
  try {
    await expect(answer(client.calls)).rejects.toMatchObject({
      code: 'SOURCE_UNREACHABLE',
      stage: 'connect',
    });
    await expect(client.calls.testSource({ sourceId: 's' }, ctx)).rejects.toMatchObject({
      code: 'SOURCE_UNREACHABLE',
    });
    await expect(answer(stranger.calls)).rejects.toMatchObject({ code: 'KEY_MISSING' });
    expect(catalog.watchers).toHaveLength(1);
  } finally {
    client.close();
    stranger.close();
    await running.close();
    await catalog.server.close(1_000);
  }
});

test('health checks pass once the catalog was reached', async () => {
  const { publicKey, privateKey } = await generateKeyPair();
  const { server: reserved } = await startCatalog(publicKey);
  await reserved.close(0);
  const running = await startExecutorProcess(environment(privateKey, reserved.port), parts);
  const client = createGrpcClient(ExecutorServiceService, { address: `127.0.0.1:${running.port}` });
  try {
    expect(await client.probe(1_000)).toBe('not serving');
    const catalog = await startCatalog(publicKey, reserved.port);
    await expect.poll(() => client.probe(1_000), { timeout: 60_000 }).toBe('serving');
    await catalog.server.close(0);
  } finally {
    client.close();
    await running.close();
  }
});

test('does not start with a public key instead of a private one, nor with a key file without keys', async () => {
  const { publicKey } = await generateKeyPair();
  const start = (env: Record<string, string>) =>
    startExecutorProcess({ DATAHUB_SERVICE_TOKEN: token, ...env }, parts);
  const swapped = start({ DATAHUB_SEALING_PRIVATE_KEYS: publicKey });
  await expect(swapped).rejects.toThrow(/DATAHUB_SEALING_PRIVATE_KEYS: .*it is the public key/);
  const empty = start({ DATAHUB_SEALING_KEY_FILE: '/dev/null' });
  await expect(empty).rejects.toThrow('The file that DATAHUB_SEALING_KEY_FILE names contains no key');
});

test('does not start with missing settings, and names all of them', async () => {
  const start = startExecutorProcess({}, parts);
  await expect(start).rejects.toThrow(/DATAHUB_SEALING_PRIVATE_KEYS[\s\S]*DATAHUB_SERVICE_TOKEN/);
});
