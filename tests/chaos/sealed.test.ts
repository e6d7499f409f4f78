import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SourceDoc } from '@datahub/catalog/documents';
import { openCatalogStore } from '@datahub/catalog/store';
import { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { CatalogInternalServiceService } from '@datahub/proto/catalog/v1/catalog_internal';
import { generateKeyPair, readKeyFile } from '@datahub/sealing/key-pair';
import { keyIdOf } from '@datahub/sealing/opener';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openHub } from '../../services/hub/src/compose.ts';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { createRawCaller, type Method } from '../support/grpc.ts';
import { scaled } from '../support/scale.ts';
import { hubSettings } from '../support/spawned.ts';

const { POSTGRES_URL } = process.env;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const connection = () => accessOf(POSTGRES_URL as string);

describe.skipIf(!POSTGRES_URL)('sealed credentials (needs POSTGRES_URL)', () => {
  let dir: string;
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  const env = () => ({
    ...hubSettings(dir, key),
    DATAHUB_EDGE: 'none',
  });
  const apiOf = ({ port }: { port: number }) => createApi({ url: `http://127.0.0.1:${port}`, key });

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-sealed-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const sourceBody = (hubId: string) => ({
    hubId,
    label: 's',
    engine: 'postgres',
    connectionSettings: connection(),
  });

  async function addSource(api: Api, hubId: string): Promise<{ sourceId: string; queryId: string }> {
    const { sourceId } = await api.ok(api.post('/v1/sources', sourceBody(hubId)));
    const query = { hubId, sourceId, label: 'q', query: 'SELECT 1 AS one' };
    return { sourceId, queryId: (await api.ok(api.post('/v1/queries', query))).config.query.queryId };
  }

  it('cannot be used by an attacker who can write to the store', async () => {
    const flipped = (sealed: string, part: number): string => {
      const parts = sealed.split(':');
      const bytes = Buffer.from(parts[part] as string, 'base64url');
      bytes[0] = (bytes[0] as number) ^ 1;
      return parts.with(part, bytes.toString('base64url')).join(':');
    };
    const other = await generateKeyPair();
    const tampers: Record<string, (source: SourceDoc, other: SourceDoc) => Partial<SourceDoc>> = {
      'another source’s password': (_, { password }) => ({ password }),
      'another source’s user': (_, { user }) => ({ user }),
      'all secrets of another source': (_, { user, password }) => ({ user, password }),
      'user for password': ({ user }) => ({ password: user }),
      'a byte of the ciphertext': ({ password }) => ({
        password: { ...password, sealed: flipped(password.sealed, 3) },
      }),
      'a byte of the encapsulated key': ({ password }) => ({
        password: { ...password, sealed: flipped(password.sealed, 2) },
      }),
      'another key’s id': ({ password }) => ({
        password: {
          ...password,
          sealed: password.sealed
            .split(':')
            .with(1, other.publicKey.split(':')[0] as string)
            .join(':'),
        },
      }),
      'the plain password': ({ password }) => ({ password: { ...password, sealed: connection().password } }),
      'no password': ({ password }) => ({ password: { ...password, sealed: '' } }),
      'another host': () => ({ host: 'localhost' }),
      'another port': ({ port }) => ({ port: port + 1 }),
      'another engine': () => ({ engine: 'mariadb' }),
      'no TLS': ({ tls }) => ({ tls: { ...tls, mode: 'disable' } }),
      // What is not bound changes nothing.
      'another label': () => ({ label: 'other' }),
    };
    const first = await openHub(env());
    const { hubId } = await apiOf(first).ok(apiOf(first).post('/v1/hubs', { label: 'sealed' }));
    const donor = await addSource(apiOf(first), hubId);
    const made = new Map<string, { sourceId: string; queryId: string }>();
    for (const name of Object.keys(tampers)) made.set(name, await addSource(apiOf(first), hubId));
    await first.close();

    const store = await openCatalogStore(`sqlite:${join(dir, 'catalog.db')}`);
    const all = await store.sources.scan({ limit: 100 });
    const find = (id: string) => all.find((source) => source.id === id) as SourceDoc;
    for (const [name, tamper] of Object.entries(tampers)) {
      const source = find((made.get(name) as { sourceId: string }).sourceId);
      const changed = { ...source, ...tamper(source, find(donor.sourceId)), version: source.version + 1 };
      expect(await store.sources.replace(changed)).toBe(true);
    }
    await store.close();

    const second = await openHub(env());
    const told: Record<string, unknown> = {};
    const reasons: string[] = [];
    for (const [name, { queryId, sourceId }] of made) {
      const executed = await apiOf(second).post('/v1/queries/execute', { queryId });
      const tested = await apiOf(second).post(`/v1/sources/${sourceId}/test`);
      told[name] = [executed.status, executed.body.code, executed.body.stage, tested.status];
      reasons.push(`${name}: ${executed.body.message ?? 'executed'} ${tested.body.message ?? 'reached'}`);
    }
    await second.close();
    const refused = [503, 'UNAVAILABLE', 'connect', 503];
    expect(told, reasons.join('\n')).toEqual({
      ...Object.fromEntries(Object.keys(tampers).map((name) => [name, refused])),
      // Its query was checked by the rules of the first one, so it is refused before anything is opened.
      'another engine': [409, 'SOURCE_GONE', undefined, 503],
      'another label': [200, undefined, undefined, 200],
    });
  });

  it('move to a new key under load, without an error, and need the old one no more', async () => {
    const count = scaled(100, 10_000);
    const serviceToken = randomBytes(32).toString('hex');
    const settings = { ...env(), DATAHUB_SERVICE_TOKEN: serviceToken };
    const keyFile = join(dir, 'sealing-keys');
    let hub = await startDistributed(settings, 'ignore');
    let api = apiOf(hub);
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'rotation' }));
    const used: { sourceId: string; queryId: string }[] = [];
    for (let i = 0; i < 10; i++) used.push(await addSource(api, hubId));
    const { accountId, ids } = await createSources(hub, {
      hubId,
      serviceToken,
      count: count - used.length,
      api,
    });
    const order = [...ids, ...used.map(({ sourceId }) => sourceId)].toSorted();
    const beforeLast = `${accountId}/${order.at(-2)}`;
    await hub.close();

    const [old = ''] = await readKeyFile(keyFile);
    const next = await generateKeyPair();
    await writeFile(keyFile, `${next.privateKey}\n${old}\n`);
    hub = await startDistributed(settings, 'ignore');
    api = apiOf(hub);
    const startedAt = performance.now();
    await untilExecuting(api, used[0]?.queryId);
    const failed: string[] = [];
    let running = true;
    let asked = 0;
    const note = ({ status, text }: { status: number; text: string }) => {
      asked++;
      if (status !== 200) failed.push(`${status} ${text}`);
    };
    const load = Array.from({ length: 4 }, async (_, i) => {
      for (let n = i; running; n++) {
        const { queryId } = used[n % used.length] as (typeof used)[number];
        note(await api.post('/v1/queries/execute', { queryId }));
        const sourceId = ids[(n * 37) % ids.length];
        const change = n % 2 === 0 ? { label: `l${n}` } : { connectionSettings: { password: `p${n}` } };
        note(await api.put(`/v1/sources/${sourceId}`, change));
        await sleep(10);
      }
    });
    const oldId = old.split(':')[0] as string;
    let left = count;
    while (left > 0) {
      await sleep(250);
      // They are moved in their order, and to look at all of them keeps the catalog from moving any.
      const [last] = await listSealed(hub, serviceToken, { afterSourceId: beforeLast, limit: 1 });
      if (keyIdOf(last.sealed.password) === oldId) continue;
      left = (await sealedTo(hub, serviceToken, count)).get(oldId) ?? 0;
    }
    const tookMs = performance.now() - startedAt;
    running = false;
    await Promise.all(load);
    const keys = await sealedTo(hub, serviceToken, count);
    await hub.close();
    console.log(`${count} sources moved in ${(tookMs / 1_000).toFixed(1)} s, during ${asked} requests`);
    expect(failed).toEqual([]);
    expect([...keys]).toEqual([[next.privateKey.split(':')[0], count]]);

    await writeFile(keyFile, `${next.privateKey}\n`);
    hub = await startDistributed(settings, 'ignore');
    api = apiOf(hub);
    await untilExecuting(api, used[0]?.queryId);
    for (const { queryId } of used) {
      const { status, text } = await api.post('/v1/queries/execute', { queryId });
      expect(status, text).toBe(200);
    }
    await hub.close();
  }, 300_000);
});

/** Of services that start together, the executor may look for the catalog before it is there, and then waits a second. */
const untilExecuting = (api: Api, queryId: string | undefined) =>
  expect
    .poll(async () => (await api.post('/v1/queries/execute', { queryId })).status, { timeout: 60_000 })
    .toBe(200);

interface Wanted {
  hubId: string;
  serviceToken: string;
  count: number;
  api: Api;
}

/** Sources that nobody executes on, made as fast as the catalog makes them. */
async function createSources(hub: DistributedHub, { hubId, serviceToken, count, api }: Wanted) {
  const [{ accountId }] = (await api.get(`/v1/sources?hubId=${hubId}&limit=1`)).body;
  const principal = { accountId, keyId: 'k', scopes: ['*'], limits: undefined };
  const request = { hubId, label: 's', engine: 'postgres', connectionSettings: connection() };
  const ids: string[] = [];
  // A server lets go of connections that have grown old, so each lot has its own.
  while (ids.length < count) {
    const caller = createRawCaller(hub.addresses.catalog, serviceToken);
    let left = Math.min(1_000, count - ids.length);
    const worker = async () => {
      while (left-- > 0) {
        const answer = await caller.call(CatalogServiceService.createSource as Method, request, principal);
        ids.push(answer.responses[0].source.sourceId);
      }
    };
    await Promise.all(Array.from({ length: 16 }, worker));
    caller.close();
  }
  return { accountId, ids };
}

/** How many sources have a secret sealed to which key. */
async function sealedTo(
  hub: DistributedHub,
  serviceToken: string,
  count: number,
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  let seen = 0;
  for (let afterSourceId = ''; ; ) {
    const sources = await listSealed(hub, serviceToken, { afterSourceId, limit: 1_000 });
    for (const { sealed } of sources) {
      for (const id of new Set([keyIdOf(sealed.user), keyIdOf(sealed.password)])) {
        found.set(id as string, (found.get(id as string) ?? 0) + 1);
      }
    }
    seen += sources.length;
    const last = sources.at(-1);
    if (last === undefined) break;
    afterSourceId = `${last.accountId}/${last.sourceId}`;
  }
  expect(seen).toBe(count);
  return found;
}

async function listSealed(
  hub: DistributedHub,
  serviceToken: string,
  request: { afterSourceId: string; limit: number },
) {
  const caller = createRawCaller(hub.addresses.internal, serviceToken);
  const answer = await caller.call(CatalogInternalServiceService.listSealed as Method, request);
  caller.close();
  return answer.responses[0].sources;
}
