import { describe, expect, test } from 'vitest';
import { cpuMs } from '../../../../../tests/support/timing/longest-turn.ts';
import {
  type CacheKeyParts,
  createCacheKeys,
  createTagger,
} from '../../../src/execution/cached/cache-key.ts';
import { type CacheEntry, ResponseStore } from '../../../src/execution/cached/response-store.ts';
import type { Param } from '../../../src/ports/engine.ts';
import { query, source } from '../../fakes/pipeline.ts';

const kibi = 1_024;
const entry = (accountId: string, bytes: number, ids: string[] = []): CacheEntry => ({
  accountId,
  ids,
  answer: { bytes: Buffer.alloc(bytes), etag: 'e', truncated: false, rowCount: 1 },
  freshAt: 0,
  runAt: 0,
  ranAt: 0,
});

describe('the store', () => {
  test('drops what depends on a change, without looking at all other answers', () => {
    const store = new ResponseStore({ bytesMax: 64 * 1_024 * kibi });
    const filled = cpuMs();
    for (let i = 0; i < 30_000; i++) store.put(`k${i}`, entry(`a${i % 8}`, 1, [`q${i}`, `s${i % 100}`, 'h']));
    const changed = cpuMs();
    for (let i = 0; i < 300; i++) store.invalidate([`none${i}`]);
    expect(cpuMs() - changed).toBeLessThan((changed - filled) / 2);
    store.invalidate(['q1', 's2', 'none']);
    expect(['k1', 'k2', 'k102', 'k3'].map((key) => store.get(key) !== undefined)).toEqual([
      false,
      false,
      false,
      true,
    ]);
    expect(store.size).toBe(30_000 - 301);
    store.invalidate(['h']);
    expect([store.size, store.bytes]).toEqual([0, 0]);
  });

  test('evicts the least recently used answers, and stays below its limit', () => {
    const store = new ResponseStore({ bytesMax: 64 * kibi });
    for (let i = 0; i < 40; i++) store.put(`k${i}`, entry(`account ${i % 8}`, 3 * kibi));
    expect(store.bytes).toBe(64 * kibi);
    expect(store.size).toBe(16);
    expect(store.get('k23')).toBeUndefined();
    store.touch('k24', store.get('k24') as CacheEntry);
    store.put('new', entry('another', 3 * kibi));
    expect([store.get('k24') !== undefined, store.get('k25')]).toEqual([true, undefined]);
  });

  test('counts an answer until it was read, however often it is evicted meanwhile', async () => {
    const store = new ResponseStore({ bytesMax: 64 * kibi });
    const readers = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
    const reads: Promise<void>[] = [];
    for (const [i, { promise }] of readers.entries()) {
      const one = entry('a', 5 * kibi);
      store.put(`k${i}`, one);
      // Two calls read each.
      for (let call = 0; call < 2; call++) reads.push(store.whileRead(`k${i}`, one, promise));
      // Those that were not stored are counted, too.
      expect(store.bytes).toBe((i + 1) * 6 * kibi);
    }
    expect(store.reserve('a', 1)).toBe(false);
    expect(store.reserve('b', 8 * kibi)).toBe(true);
    store.release('b', 8 * kibi);
    for (const { resolve } of readers) resolve();
    await Promise.all(reads);
    expect([store.size, store.bytes, store.reserve('a', 16 * kibi)]).toEqual([0, 0, true]);
  });

  test('evicts in the order of the last uses, also after an answer was used twice in a row', () => {
    const store = new ResponseStore({ bytesMax: 16 * kibi });
    for (const key of ['a', 'b', 'c', 'd']) store.put(key, entry(key, 3 * kibi));
    for (const key of ['a', 'a', 'd', 'c']) store.touch(key, store.get(key) as CacheEntry);
    store.delete('c');
    store.put('c', entry('c', 3 * kibi));
    for (const key of ['a', 'c']) store.touch(key, store.get(key) as CacheEntry);
    for (const key of ['e', 'f']) store.put(key, entry(key, 3 * kibi));
    expect(['a', 'b', 'c', 'd'].filter((key) => store.get(key) !== undefined)).toEqual(['a', 'c']);
  });

  test('gives an account at most a quarter, and evicts answers of the same account beyond it', () => {
    const store = new ResponseStore({ bytesMax: 64 * kibi });
    store.put('other', entry('b', kibi));
    for (let i = 0; i < 40; i++) store.put(`k${i}`, entry('a', 3 * kibi));
    expect([store.size, store.get('k35'), store.get('k36') === undefined]).toEqual([5, undefined, false]);
    expect(store.get('other')).toBeDefined();
  });

  test('counts answers that are being fetched', () => {
    const store = new ResponseStore({ bytesMax: 64 * kibi });
    store.put('k', entry('a', 3 * kibi));
    expect(store.reserve('a', 12 * kibi)).toBe(true);
    expect(store.get('k')).toBeDefined();
    expect(store.reserve('a', 4 * kibi)).toBe(true);
    expect(store.get('k')).toBeUndefined();
    expect(store.reserve('a', 1)).toBe(false);
    store.release('a', 16 * kibi);
    expect(store.bytes).toBe(0);
  });

  test('frees answers that a change invalidates', () => {
    const store = new ResponseStore({ bytesMax: 64 * kibi });
    store.put('k1', entry('a', 1, ['q1', 's', 'h']));
    store.put('k2', entry('a', 1, ['q2', 's', 'h']));
    store.invalidate(['q1', 'other']);
    expect([store.get('k1'), store.size]).toEqual([undefined, 1]);
    store.invalidate(['h']);
    expect([store.size, store.bytes]).toEqual([0, 0]);
  });
});

describe('the key', () => {
  const toCacheKey = createCacheKeys();
  const parts = (params: Param[], rest: Partial<CacheKeyParts> = {}): CacheKeyParts => ({
    query,
    statement: { key: 'k', text: 'x', params },
    pinnedJson: '',
    maxRows: undefined,
    format: 'json',
    numbers: 'auto',
    csv: undefined,
    ...rest,
  });

  test('depends on everything that an answer depends on', () => {
    const all = [
      parts([]),
      parts([null]),
      parts(['null']),
      parts(['1']),
      parts([1]),
      parts([1n]),
      parts([{ decimal: '1' }]),
      parts([true]),
      parts(['true']),
      parts([0]),
      parts([-0]),
      parts(['a', 'b']),
      parts(['ab']),
      parts(['a8:string b']),
      parts(['\ud800']),
      parts(['\ufffd']),
      parts(['"\\ud800"']),
      parts([], { pinnedJson: '{"a":1}' }),
      parts([], { maxRows: 1 }),
      parts([], { format: 'csv' }),
      parts([], { numbers: 'string' }),
      parts([], { statement: { key: 'k.2', text: 'x', params: [] } }),
      parts([], { query: { ...query, accountId: 'b' } }),
      parts([], { query: { ...query, queryId: 'q2' } }),
      parts([], { query: { ...query, versionNumber: 2 } }),
      parts([], { query: { ...query, cache: { maxAgeS: 1, staleS: 0, ageMsMax: 1, validate: undefined } } }),
      parts([], { query: { ...query, source: { ...source, sourceId: 's2' } } }),
      parts([], { query: { ...query, source: { ...source, settingsVersion: '2' } } }),
      parts([], { query: { ...query, source: { ...source, engine: 'mongodb' } } }),
    ];
    expect(new Set(all.map(toCacheKey)).size).toBe(all.length);
    expect(toCacheKey(parts(['a', 1]))).toBe(toCacheKey(parts(['a', 1])));
    // A move raises only the version of the document.
    expect(toCacheKey(parts([], { query: { ...query, version: 2 } }))).toBe(toCacheKey(parts([])));
  });

  test('does not depend on the SQL text, which the query’s version and the statement’s key identify', () => {
    const statement = { key: 'k', text: 'y', params: [] };
    expect(toCacheKey(parts([], { statement }))).toBe(toCacheKey(parts([])));
    const mongodb = { ...query, source: { ...source, engine: 'mongodb' as const } };
    expect(toCacheKey(parts([], { query: mongodb, statement }))).not.toBe(
      toCacheKey(parts([], { query: mongodb })),
    );
  });
});

test('the tag of an answer depends on a secret, its key, its bytes, and whether a limit has cut it', () => {
  const [tag, other] = [createTagger(), createTagger()];
  const bytes = Buffer.from('rows');
  const expected = tag('k', bytes, false);
  expect(expected).toMatch(/^[0-9a-f]{32}$/);
  expect(tag('k', Buffer.from('rows'), false)).toBe(expected);
  const different = [tag('l', bytes, false), tag('k', Buffer.from('row'), false), tag('k', bytes, true)];
  for (const one of [...different, other('k', bytes, false)]) expect(one).not.toBe(expected);
});
