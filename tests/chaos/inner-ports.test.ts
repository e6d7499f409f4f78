import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRemoteExecutor } from '@datahub/executor-session/remote-executor';
import {
  type BeginOperationRequest,
  BeginOperationRequest_Settling,
} from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { Format } from '@datahub/proto/executor/v1/executor';
import { createCallContext } from '@datahub/service-kit/call/call';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { createRawCaller, type Method, type RawCaller, type Status } from '../support/grpc.ts';
import { hubSettings } from '../support/spawned.ts';
import {
  board,
  examples,
  type Ids,
  label,
  operations,
  query,
  type ServiceName,
  services,
  source,
} from './rpc-operations.ts';

const { POSTGRES_URL } = process.env;
const principalOf = (accountId: string): Principal => ({
  accountId,
  keyId: `dh.key.${accountId}`,
  scopes: ['*'],
  limits: undefined,
});
const ours = principalOf('dh.acct.ours');
const theirs = principalOf('dh.acct.theirs');
const status = { ok: '0', notFound: '5', unauthenticated: '16' };

/** The members of a request that have ids, with the resource of each. */
const positionsOf = (ids: string) =>
  ids.split(' ').map((position) => {
    const [member = '', name = member] = position.split('=');
    return { member, name };
  });

const requestOf = (positions: string, rest: object, ids: Ids) => ({
  moreVersions: [],
  ...rest,
  ...Object.fromEntries(positionsOf(positions).map(({ member, name }) => [member, ids[name]])),
});

/** For each member, an id of the caller's own resource of another kind. */
const otherKind: Ids = {
  hubId: 'sourceId',
  nodeId: 'queryId',
  emptyNodeId: 'hubId',
  queriesNodeId: 'sourceId',
  sourcesNodeId: 'keyId',
  sourceId: 'queryId',
  queryId: 'classifierId',
  boardId: 'hubId',
  classifierId: 'hubId',
  classId: 'nodeId',
  jobId: 'classifierId',
  exampleId: 'classId',
  keyId: 'classId',
};
const random = Object.fromEntries(
  Object.keys(otherKind).map((name) => [name, 'dh.hub.01m7xzzzzz0000000000000000zzzz']),
);

const matrix = operations.flatMap(([service, method, ids, rest = {}]) =>
  positionsOf(ids).map(({ member, name }) => ({ service, method, ids, rest, member, name })),
);
const unary = Object.entries(services).flatMap(([service, methods]) =>
  Object.keys(methods).map((method) => ({ service: service as ServiceName, method })),
);
/** Methods that executors or gateways call on behalf of no account, and the one that finds the principal. */
const withoutPrincipal = [
  'authenticate',
  'takeJob',
  'takeTicks',
  'takeDeliveries',
  'endDelivery',
  'watch',
  'leaseSlots',
  'listSealed',
  'reseal',
  'listSealedSecrets',
  'resealSecrets',
  'recordRuns',
  'tellJobEnded',
  'answerMail',
  'signIn',
  'endSignIns',
  'takeRefreshes',
  'endRefresh',
  'registerClient',
  'issueTokens',
  'revokeToken',
  'session',
];

describe.skipIf(!POSTGRES_URL)('the ports between services (needs POSTGRES_URL)', () => {
  const serviceToken = randomBytes(32).toString('hex');
  let dir: string;
  let hub: DistributedHub;
  let callers: Record<ServiceName, RawCaller>;
  const mine: Ids = {};
  const own: Ids = {};
  const deleted: Ids = {};

  const ask = (service: ServiceName, method: string, request: object, principal?: Principal | string) =>
    callers[service].call(services[service][method] as Method, request, principal);

  const make = async (principal: Principal, ids: Ids) => {
    const get = async (service: ServiceName, method: string, request: object) => {
      const answer = await ask(service, method, request, principal);
      expect(answer.status, `${method}: ${answer.message}`).toBe(status.ok);
      return answer.responses[0];
    };
    const { hubId } = (await get('catalog', 'createHub', { label })).hub;
    ids.hubId = hubId;
    const { children } = (await get('catalog', 'getHubContents', { hubId })).root;
    const category = (subType: string) =>
      children.find(({ nodeSubType }: { nodeSubType: string }) => nodeSubType === subType).nodeId;
    ids.queriesNodeId = category('queries');
    ids.sourcesNodeId = category('sources');
    ids.nodeId = (await get('catalog', 'createFolder', { hubId, label })).folder.nodeId;
    ids.emptyNodeId = (await get('catalog', 'createFolder', { hubId, label })).folder.nodeId;
    const { sourceId } = (await get('catalog', 'createSource', { hubId, ...source })).source;
    ids.sourceId = sourceId;
    const stored = await get('catalog', 'createQuery', { hubId, sourceId, label, query, notNull: [] });
    ids.queryId = stored.query.queryId;
    ids.boardId = (await get('catalog', 'createBoard', { hubId, settings: board })).board.boardId;
    const { classifierId } = (await get('ml', 'createClassifier', { name: label })).classifier;
    ids.classifierId = classifierId;
    ids.classId = (await get('ml', 'train', { classifierId, examples, eventId: 'f' })).classes[0].classId;
    ids.jobId = (await get('ml', 'startJob', { classifierId, queryId: 'q', contextJson: '' })).jobId;
    ids.exampleId = (await get('ml', 'listExamples', { classifierId, after: '' })).examples[0].exampleId;
    ids.keyId = (await get('catalog', 'createKey', { name: label, scopes: [] })).key.keyId;
  };

  const run = async (principal: Principal, ids: Ids, only: (method: string) => boolean) => {
    const failed: string[] = [];
    for (const [service, method, positions, rest = {}] of operations) {
      if (!only(method)) continue;
      const { status: code, message } = await ask(
        service,
        method,
        requestOf(positions, rest, ids),
        principal,
      );
      if (code !== status.ok) failed.push(`${method}: ${code} ${message}`);
    }
    return failed;
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-inner-'));
    hub = await startDistributed({
      ...hubSettings(dir, `test-key-${randomBytes(24).toString('hex')}`),
      DATAHUB_EDGE: 'none',
      DATAHUB_SERVICE_TOKEN: serviceToken,
    });
    const caller = (name: ServiceName) => createRawCaller(hub.addresses[name], serviceToken);
    callers = {
      catalog: caller('catalog'),
      internal: caller('internal'),
      executor: caller('executor'),
      ml: caller('ml'),
    };
    for (const ids of [own, deleted]) await make(theirs, ids);
    await make(ours, mine);
    expect(await run(theirs, deleted, (method) => /^(delete|revoke)/.test(method))).toEqual([]);
  });

  afterAll(async () => {
    for (const caller of Object.values(callers ?? {})) caller.close();
    await hub?.close();
    await rm(dir, { recursive: true, force: true });
  });

  it.each(unary)('refuse $service: $method without the hub’s own token', async ({ service, method }) => {
    const stranger = createRawCaller(hub.addresses[service], 'another-token');
    const answer = await stranger.call(services[service][method] as Method, Buffer.alloc(0), theirs);
    stranger.close();
    expect([answer.status, answer.responses]).toEqual([status.unauthenticated, []]);
  });

  it.each(unary.filter(({ method }) => !withoutPrincipal.includes(method)))(
    'refuse $service: $method without a principal, or with an invalid one',
    async ({ service, method }) => {
      const [, , ids = '', rest = {}] = operations.find(([, name]) => name === method) ?? [];
      const request = ids === '' ? Buffer.alloc(0) : requestOf(ids, rest, mine);
      // Invalid base64; base64 of an invalid message; a message without an account.
      const odd = ['!', Buffer.from([0x0a, 0xff]).toString('base64'), 'EgFr', ''];
      for (const principal of [undefined, principalOf(''), ...odd]) {
        const answer = await callers[service].call(services[service][method] as Method, request, principal);
        expect([answer.status, answer.responses, principal]).toEqual([status.unauthenticated, [], principal]);
      }
    },
  );

  it.each(matrix)('$service: $method accepts for $member ($name) only the caller’s own', async (cell) => {
    const { service, method, ids, rest, name } = cell;
    const askWith = (id: string | undefined): Promise<Status> =>
      ask(service, method, requestOf(ids, rest, { ...own, [name]: id as string }), theirs);
    const unknown = await askWith(random[name]);
    expect([unknown.status, unknown.responses]).toEqual([status.notFound, []]);
    expect(await askWith(mine[name])).toEqual(unknown);
    expect(await askWith(deleted[name])).toEqual(unknown);
    expect(await askWith(own[otherKind[name] as string])).toEqual(unknown);
    expect(await askWith(mine[otherKind[name] as string])).toEqual(unknown);
  });

  it('neither show nor change another account’s resources if an unknown id is no error', async () => {
    const begin: BeginOperationRequest = {
      idempotencyKey: 'k',
      operation: 'POST /v1/hubs',
      attempt: '',
      bodyMac: Buffer.alloc(32),
      settling: BeginOperationRequest_Settling.SETTLING_UNSPECIFIED,
      queryId: '',
      longestMs: 60_000,
    };
    const recordId = (await ask('catalog', 'beginOperation', begin, ours)).responses[0].recordId;
    const finish = (id: string) =>
      ask('catalog', 'finishOperation', { recordId: id, status: 0, body: Buffer.alloc(0) }, theirs);
    expect(await finish(recordId)).toEqual(await finish('unknown'));
    const inFlight = 3;
    expect((await ask('catalog', 'beginOperation', begin, ours)).responses[0].state).toBe(inFlight);
    expect((await ask('catalog', 'beginOperation', begin, theirs)).responses[0].state).toBe(1);

    for (const [member, id] of [
      ['resourceId', mine.hubId],
      ['keyId', ours.keyId],
    ]) {
      const entries = async (principal: Principal) =>
        (await ask('catalog', 'listAudit', { [member as string]: id }, principal)).responses[0].entries;
      expect(await entries(theirs)).toEqual([]);
      expect(await entries(ours)).not.toEqual([]);
    }
  });

  it('store envelopes only under the account and id of their source, at any position of a batch', async () => {
    const resolve = async (sourceId: string | undefined, principal: Principal) =>
      (await ask('internal', 'resolveSource', { sourceId }, principal)).responses[0].source;
    const before = await resolve(mine.sourceId, ours);
    const expectedVersion = before.version;
    const foreign = [mine, deleted, random].map(({ sourceId }) => ({ sourceId, expectedVersion }));
    for (const [i, strange] of [...foreign, { accountId: ours.accountId }, { accountId: '' }].entries()) {
      const { version, sealed } = await resolve(own.sourceId, theirs);
      const good = { ...theirs, sourceId: own.sourceId, expectedVersion: version, sealed };
      const [first, ...more] = [good].toSpliced(i % 2, 0, { ...good, ...strange } as typeof good);
      const [{ done, moreDone }] = (await ask('internal', 'reseal', { ...first, more })).responses;
      expect([done, ...moreDone]).toEqual([true].toSpliced(i % 2, 0, false));
    }
    expect(await resolve(mine.sourceId, ours)).toEqual(before);
  });

  it('sessions run nothing without a principal, and nothing of another account', async () => {
    const address = hub.addresses.executor;
    const executor = await openRemoteExecutor({ addresses: [address], serviceToken, onDown: () => {} });
    const answers: string[] = [];
    for (const principal of [undefined, principalOf(''), theirs, ours]) {
      const chunks: Buffer[] = [];
      const reply = { chunk: (bytes: Buffer) => chunks.push(bytes) > 0, onDrain: () => {} };
      const request = { queryId: mine.queryId as string, contextJson: '', format: Format.FORMAT_JSON };
      const ctx = { ...createCallContext({ timeoutMs: 5_000 }), principal };
      const whole = () => Buffer.concat(chunks).toString();
      answers.push(await executor.execute(request, ctx, reply).then(whole, ({ code }) => code));
    }
    executor.close();
    expect(answers).toEqual(['KEY_MISSING', 'KEY_MISSING', 'NOT_FOUND', '{"data":[{"one":1}]}']);
  });

  it('statistics and names are those of the caller’s own queries', async () => {
    const { queryId } = mine;
    const idsOf = async (method: 'readStatistics' | 'nameQueries', principal: Principal) => {
      const [service, request] =
        method === 'nameQueries'
          ? (['catalog', { queryIds: [queryId] }] as const)
          : (['executor', { queryIds: [] }] as const);
      const [{ queries }] = (await ask(service, method, request, principal)).responses;
      return queries.map((query: Ids) => query.queryId);
    };
    for (const method of ['readStatistics', 'nameQueries'] as const) {
      expect(await idsOf(method, ours)).toEqual([queryId]);
      expect(await idsOf(method, theirs)).toEqual([]);
    }
  });

  it('have changed nothing: every call with our own ids succeeds', async () => {
    expect(await run(ours, mine, () => true)).toEqual([]);
  });
});
