import type { RecordUseRequest } from '@datahub/proto/catalog/v1/catalog';
import type { User } from '@datahub/proto/common/v1/principal';
import type { CallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { DistinctSketch, sketchPlaceOf } from '@datahub/service-kit/distinct-sketch';
import { createLogger } from '@datahub/service-kit/telemetry/logger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { beforeEach, expect, it } from 'vitest';
import { createUsageCounter, type UsageCounter } from '../../src/telemetry/usage-counter.ts';

const logger = createLogger({ service: 'gateway', level: 'silent', pretty: false });
/** A use without users has none. */
const toRead = ({ users, ...use }: RecordUseRequest['uses'][0]) =>
  users.length === 0 ? use : { ...use, users: users.toString('base64') };
let calls: { keyId: string | undefined; uses: ReturnType<typeof toRead>[] }[];
let refuse: (call: number) => boolean;
/** Places of those that the catalog has no time for. */
let late: number[];
let usage: UsageCounter;
let nowMs: number;
let ages: (number | undefined)[];
let principals: CallContext['principal'][];
let recording: Promise<void>;

beforeEach(() => {
  calls = [];
  refuse = () => false;
  late = [];
  ages = [];
  principals = [];
  recording = Promise.resolve();
  nowMs = 10 * 3_600_000;
  const recordUse = async ({ uses, ageMs }: RecordUseRequest, { principal }: CallContext) => {
    ages.push(ageMs);
    principals.push(principal);
    await recording;
    calls.push({ keyId: principal?.keyId, uses: uses.map(toRead) });
    if (refuse(calls.length)) throw new HubError('UNAVAILABLE', 'away');
    return { left: late };
  };
  const options = { logger, intervalMs: 3_600_000, nowMs: () => nowMs };
  usage = createUsageCounter({ catalog: { recordUse }, ...options });
});

function answer(
  queryId: string,
  {
    status = 200,
    keyId = 'k',
    whole = true,
    counted = 'query.execute',
    failedWith = undefined as string | undefined,
    user = undefined as User | undefined,
    headers = {} as Record<string, string>,
    more = {},
  } = {},
) {
  const principal = { accountId: 'a', keyId, scopes: ['*'], limits: undefined, user, ...more };
  const request = {
    context: { principal, route: { audit: counted === '' ? undefined : counted } },
    params: {},
    headers,
    body: { queryId },
    failedWith,
  };
  const reply = { raw: { statusCode: status, writableFinished: whole } };
  usage.answered(request as unknown as FastifyRequest, reply as FastifyReply);
}

it('sums up by key and query, with what failed', async () => {
  for (const status of [200, 200, 502, 404, 429]) answer('one', { status });
  answer('one', { whole: false });
  answer('one', { failedWith: 'UNAVAILABLE' });
  answer('two', { keyId: 'other' });
  answer('three', { counted: '' });
  await usage.close();
  expect(calls).toEqual([
    { keyId: 'k', uses: [{ action: 'query.execute', resourceId: 'one', count: 5, failed: 3 }] },
    { keyId: 'other', uses: [{ action: 'query.execute', resourceId: 'two', count: 1, failed: 0 }] },
  ]);
});

it('counts what ran without a request, unless it was refused', async () => {
  const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
  usage.ran(principal, 'one');
  usage.ran(principal, 'one', new HubError('SOURCE_BROKEN', 'broken'));
  usage.ran(principal, 'one', new HubError('NOT_FOUND', 'gone'));
  await usage.close();
  const uses = [{ action: 'query.execute', resourceId: 'one', count: 2, failed: 1 }];
  expect(calls).toEqual([{ keyId: 'k', uses }]);
});

it('counts what the console runs apart', async () => {
  answer('one', { headers: { 'x-datahub-form': 'console' } });
  answer('one', { headers: { 'x-datahub-form': 'other' } });
  await usage.close();
  expect(calls[0]?.uses).toEqual([
    { action: 'query.console', resourceId: 'one', count: 1, failed: 0 },
    { action: 'query.execute', resourceId: 'one', count: 1, failed: 0 },
  ]);
});

it('hands on few at a time, and once more what was not taken', async () => {
  refuse = (call) => call === 2;
  for (let i = 0; i < 500; i++) answer(`q${i}`);
  await usage.close();
  const taken = () =>
    calls.filter((_, i) => i !== 1).flatMap(({ uses }) => uses.map((use) => use.resourceId));
  expect(Math.max(...calls.map(({ uses }) => uses.length))).toBeLessThanOrEqual(200);
  expect(taken()).toHaveLength(300);
  answer('q0');
  await usage.close();
  expect(new Set(taken()).size).toBe(500);
  expect(taken()).toHaveLength(501);
});

it('hands on once more what the catalog had no time for, and only that', async () => {
  late = [1];
  for (const id of ['one', 'two', 'three']) answer(id);
  await usage.close();
  late = [];
  answer('two');
  await usage.close();
  expect(calls.at(-1)?.uses).toEqual([{ action: 'query.execute', resourceId: 'two', count: 2, failed: 0 }]);
});

it('tells the signed-in users of executions as a sketch without their names, also once more', async () => {
  const issuer = 'https://id.example';
  refuse = (call) => call === 1;
  for (const subject of ['ann', 'ben']) answer('one', { user: { issuer, subject } });
  await usage.close();
  for (const subject of ['ben', 'cem']) answer('one', { user: { issuer, subject } });
  await usage.close();
  const sketch = new DistinctSketch();
  for (const subject of ['ann', 'ben', 'cem'])
    sketch.add(sketchPlaceOf(JSON.stringify(['a', issuer, subject])));
  const users = sketch.toBytes().toString('base64');
  expect(calls.at(-1)?.uses).toEqual([
    { action: 'query.execute', resourceId: 'one', count: 4, failed: 0, users },
  ]);
});

it('tells how long ago the uses of each hour were, also of those that were not taken', async () => {
  answer('one');
  nowMs += 3_599_000;
  answer('one');
  nowMs += 2_000;
  answer('one');
  late = [0];
  await usage.close();
  late = [];
  nowMs += 500;
  await usage.close();
  expect(calls.map(({ uses }) => uses[0]?.count)).toEqual([2, 1, 2, 1]);
  expect(ages).toEqual([2_000, 0, 2_500, 500]);
});

it('keeps a bounded number of counts while the catalog is slow, one flush after the other', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  recording = promise;
  for (let i = 0; i < 5_000; i++) answer(`q${i}`);
  for (let i = 0; i < 21_000; i++) answer(`r${i}`);
  answer('r0');
  expect(ages).toHaveLength(1);
  resolve();
  await usage.close();
  const sent = calls.flatMap(({ uses }) => uses);
  expect(sent.filter(({ resourceId }) => resourceId.startsWith('q'))).toHaveLength(5_000);
  expect(sent.filter(({ resourceId }) => resourceId.startsWith('r'))).toHaveLength(20_000);
});

it('keeps no limits of keys and no grants of people', async () => {
  const limits = { hubIds: ['h'], queryIds: [] };
  const person = { id: 'p', grants: [{ scopes: ['*'], limits }] };
  answer('q1', { more: { limits, person } });
  await usage.close();
  const kept = { accountId: 'a', keyId: 'k', scopes: [], limits: undefined };
  expect(principals).toEqual([{ ...kept, person: { id: 'p', grants: [] } }]);
});
