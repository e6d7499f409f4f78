import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkStatement } from '@datahub/catalog/check-statement';
import { readCatalogConfig } from '@datahub/catalog/config';
import { type CatalogService, openCatalog } from '@datahub/catalog/service';
import { createKeyCache } from '@datahub/gateway/access/authenticate';
import { generateKeyPair } from '@datahub/sealing/key-pair';
import { createSealer } from '@datahub/sealing/sealer';
import { createApiKey } from '@datahub/service-kit/api-key';
import { readSettings } from '@datahub/service-kit/settings/settings';
import { createLogger } from '@datahub/service-kit/telemetry/logger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Hub, openHub } from '../../services/hub/src/compose.ts';
import { type Api, createApi } from '../support/api.ts';
import { scaled } from '../support/scale.ts';
import { hubSettings } from '../support/spawned.ts';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-';
const characters = (count: number) =>
  Array.from({ length: count }, () => alphabet[randomInt(alphabet.length)]).join('');

/** What a guesser who knows almost all of a key would try. */
const nearMisses: ((key: string) => string)[] = [
  (key) => replaceAt(key, randomInt(key.length)),
  (key) => replaceAt(replaceAt(key, randomInt(key.length)), randomInt(key.length)),
  (key) => replaceAt(key, 0),
  (key) => replaceAt(key, key.length - 1),
  (key) => key.slice(0, randomInt(key.length)),
  (key) => key.slice(1 + randomInt(key.length - 1)),
  (key) => key + characters(1 + randomInt(4)),
  (key) => characters(1 + randomInt(4)) + key,
  (key) => key.slice(0, randomInt(key.length)).padEnd(key.length, characters(8)),
  (key) => key.toUpperCase(),
  (key) => [...key].reverse().join(''),
  (key) => key + key,
];
const randomKeys = [createApiKey, () => characters(38), () => `dhk_${characters(38)}`, () => characters(64)];

function replaceAt(key: string, at: number): string {
  const others = alphabet.replace(key[at] as string, '');
  return key.slice(0, at) + others[randomInt(others.length)] + key.slice(at + 1);
}

describe('keys, guessed', () => {
  let dir: string;
  let hub: Hub;
  let api: Api;
  const givenKey = characters(40);
  let createdKey: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-keys-'));
    hub = await openHub({
      ...hubSettings(dir, givenKey),
      DATAHUB_UNKNOWN_KEYS_PER_MINUTE: '1000000',
    });
    api = createApi({ url: `http://127.0.0.1:${hub.port}`, key: givenKey });
    createdKey = (await api.ok(api.post('/v1/keys', { name: 'made', scopes: ['*'] }))).key;
  });

  afterAll(async () => {
    await hub?.close();
    await rm(dir, { recursive: true, force: true });
  });

  it('are refused, at random and near a good one alike', async () => {
    const count = scaled(2_000, 100_000);
    const statuses = new Map<number, number>();
    const codes = new Set<string>();
    const good = [givenKey, createdKey];
    const guess = (i: number): string => {
      const make = [...nearMisses, ...randomKeys][i % (nearMisses.length + randomKeys.length)];
      const key = (make as (key: string) => string)(good[randomInt(2)] as string);
      return key === '' || good.includes(key) ? characters(40) : key;
    };
    let next = 0;
    const guesser = async () => {
      while (next < count) {
        const { status, body } = await api.get('/v1/hubs', { key: guess(next++) });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        codes.add(body.code);
      }
    };
    await Promise.all(Array.from({ length: 16 }, guesser));
    expect(Object.fromEntries(statuses)).toEqual({ 401: count });
    expect([...codes]).toEqual(['KEY_INVALID']);
    for (const key of good) expect((await api.get('/v1/hubs', { key })).status).toBe(200);
  }, 300_000);

  it('in a header of whatever shape are refused in one and the same answer', async () => {
    const name = 'x-service-api-key';
    const shapes = [
      `${name}: ${createdKey}\r\n${name}: ${createdKey}`,
      `${name}: ${createdKey}, ${createdKey}`,
      `${name}: ${createdKey},`,
      `${name}: "${createdKey}"`,
      `${name}: <${createdKey}>`,
      `${name}: Bearer ${createdKey}`,
      `${name}: ${Buffer.from(createdKey).toString('base64')}=`,
      `${name}: ${createdKey.slice(0, 20)} ${createdKey.slice(20)}`,
      `${name}: ${createdKey.slice(0, 20)}\t${createdKey.slice(20)}`,
      `${name}: ${[...createdKey].map((one) => `%${one.charCodeAt(0).toString(16)}`).join('')}`,
      `${name}: ${createdKey}\u00e4`,
      `${name}: ${createdKey}\u00a0`,
      `${name}: ${createdKey.toUpperCase()}`,
      `${name}: ${createdKey.repeat(200)}`,
      `${name}: ${createdKey.slice(0, -1)}`,
      `${name}: dhk_`,
      `${name}: 0`,
      `${name}: [object Object]`,
      `${name}: ${name}: ${createdKey}`,
      `${name}: *`,
    ];
    const answers = new Set<string>();
    for (const shape of shapes) answers.add(await askRaw(hub.port, shape));
    expect([...answers]).toHaveLength(1);
    expect([...answers][0]).toMatch(/^HTTP\/1\.1 401 [\s\S]*"code":"KEY_INVALID"/);
    expect(await askRaw(hub.port, `${name}: ${createdKey}`)).toMatch(/^HTTP\/1\.1 200 /);
  });
});

/** The whole answer as it came, without what differs from one request to the next. */
function askRaw(port: number, header: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(
        Buffer.from(`GET /v1/hubs HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${header}\r\n\r\n`, 'latin1'),
      );
    });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString('latin1');
      resolve(text.replace(/^(date|x-request-id): .*\r\n/gim, '').replace(/"requestId":"[^"]*"/, ''));
    });
  });
}

describe('the look-up of a key', () => {
  let dir: string;
  let catalog: CatalogService;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-keys-'));
    const config = readSettings({ DATAHUB_DATA_DIR: dir }, readCatalogConfig);
    const logger = createLogger({ service: 'test', level: 'fatal', pretty: false });
    const { publicKey } = await generateKeyPair();
    const seal = await createSealer([publicKey]);
    catalog = await openCatalog(config, { logger, nowMs: Date.now, seal, checkStatement });
  });

  afterAll(async () => {
    await catalog?.close();
    await rm(dir, { recursive: true, force: true });
  });

  it('takes as long for a key that begins as a good one does as for any other', async () => {
    const good = catalog.bootstrapped.createdKey as string;
    const auth = createKeyCache({ catalog: catalog.calls, cacheMs: 4_000, awayMs: 60_000 });
    await auth.principalOf(good, () => {});
    // Of one shape: the prefix that all keys share, then what is right of this one or not, and no whole checksum.
    const guess = (known?: string) => {
      const made = createApiKey();
      return Buffer.from(`${(known ?? made).slice(0, 31)}-${characters(10)}`).toString('latin1');
    };
    const timed = async (key: string) => {
      const startedAt = process.hrtime.bigint();
      await Promise.resolve()
        .then(() => auth.principalOf(key, () => {}))
        .catch(() => {});
      return Number(process.hrtime.bigint() - startedAt);
    };
    // A signal has the same sign each time. Noise of a busy machine does not.
    const tried: number[] = [];
    const isSignal = () => Math.min(...tried) >= 4.5 || Math.max(...tried) <= -4.5;
    do tried.push(await welch(scaled(5_000, 50_000), [() => guess(good), () => guess()], timed));
    while (tried.length < 8 && isSignal());
    console.log(`Welch's t: ${tried.map((t) => t.toFixed(2)).join(', ')}`);
    expect(isSignal()).toBe(false);
  });
});

/** Welch's t of two kinds, timed in random order; what the machine's own pauses made of the slowest tenth is left out. */
async function welch(
  count: number,
  kinds: [() => string, () => string],
  timed: (key: string) => Promise<number>,
): Promise<number> {
  const samples: [number[], number[]] = [[], []];
  const kindsInTurn = Array.from({ length: 2 * count }, () => randomInt(2) as 0 | 1);
  const keys = kindsInTurn.map((kind) => kinds[kind]());
  for (let i = 0; i < 500; i++) await timed(characters(42));
  for (const [i, kind] of kindsInTurn.entries()) samples[kind].push(await timed(keys[i] as string));
  const [a, b] = samples.map((times) => {
    const kept = times.toSorted((x, y) => x - y).slice(0, Math.floor(times.length * 0.9));
    const mean = kept.reduce((sum, x) => sum + x, 0) / kept.length;
    const variance = kept.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (kept.length - 1);
    return { mean, error: variance / kept.length };
  }) as [{ mean: number; error: number }, { mean: number; error: number }];
  return (a.mean - b.mean) / Math.sqrt(a.error + b.error);
}
