import type { ResolveQueryResponse } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { HubError } from '@datahub/service-kit/call/error';
import { beforeEach, describe, expect, test } from 'vitest';
import { createDefinitions } from '../../src/definitions/definition-cache.ts';

const a: Principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
const b: Principal = { ...a, accountId: 'b' };
const idle = new AbortController().signal;
const away = new HubError('UNAVAILABLE', 'x');
const gone = new HubError('NOT_FOUND', 'x');

const clock = { ms: 0 };
beforeEach(() => {
  clock.ms = 100_000;
});

function answer(version: number, sourceVersion = 1): ResolveQueryResponse {
  return {
    query: {
      queryId: 'q',
      accountId: 'a',
      hubId: 'h',
      command: 'SELECT',
      query: `select ${version}`,
      context: [],
      notNull: [],
      version,
    },
    source: {
      sourceId: 's',
      accountId: 'a',
      hubId: 'h',
      engine: 'postgres',
      host: 'db',
      port: 5432,
      database: 'd',
      tls: { mode: 'require', ca: 'PEM' },
      sealed: { user: 'u', password: 'p', tlsKey: '' },
      pool: { max: 3 },
      statementTimeoutMs: undefined,
      settingsVersion: String(sourceVersion),
      version: sourceVersion,
    },
    leaseMs: 1_000,
  };
}

/** A catalog whose answers the test gives one by one, or at once while `now` has an answer. */
function setup() {
  const asked: {
    accountId: string;
    limits: object | undefined;
    /** The time limit, counted from the request. */
    timeoutMs: number;
    resolve(answer: ResolveQueryResponse): void;
    reject(err: unknown): void;
  }[] = [];
  const catalog = { now: undefined as ResolveQueryResponse | HubError | undefined };
  const definitions = createDefinitions({
    catalog: {
      resolveQuery: (_request, ctx) =>
        new Promise((resolve, reject) => {
          const accountId = ctx.principal?.accountId ?? '';
          const timeoutMs = ctx.deadlineAt - performance.now();
          asked.push({ accountId, limits: ctx.principal?.limits, timeoutMs, resolve, reject });
          if (catalog.now instanceof HubError) reject(catalog.now);
          else if (catalog.now) resolve(catalog.now);
        }),
      resolveSource: async () => ({ source: answer(1).source, leaseMs: 0 }),
    },
    now: () => clock.ms,
    cachedMax: 3,
    staleMaxMs: 60_000,
    resolveTimeoutMs: 5_000,
    renewTimeoutMs: 1_000,
  });
  return { definitions, catalog, asked };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('leases', () => {
  test('a definition is cached for a second, counted from the start of the request', async () => {
    const { definitions, asked } = setup();
    expect(definitions.cached('q', a)).toBeUndefined();
    const query = definitions.query('q', a, { signal: idle });
    clock.ms += 600;
    asked[0]?.resolve(answer(1));
    const definition = await query;
    expect(definition).toMatchObject({
      text: 'select 1',
      source: { engine: 'postgres', tls: { mode: 'require', ca: 'PEM' } },
    });
    clock.ms += 399;
    expect(definitions.cached('q', a)).toBe(definition);
    clock.ms += 1;
    expect(definitions.cached('q', a)).toBeUndefined();
  });

  test('concurrent callers share one request, one renewal comes before the end, and an unchanged definition stays the same object', async () => {
    const { definitions, catalog, asked } = setup();
    catalog.now = answer(1);
    const [first, second] = await Promise.all([
      definitions.query('q', a, { signal: idle }),
      definitions.query('q', a, { signal: idle }),
    ]);
    expect(second).toBe(first);
    clock.ms += 500;
    for (let i = 0; i < 5; i++) expect(definitions.cached('q', a)).toBe(first);
    await settled();
    expect(asked).toHaveLength(2);
    clock.ms += 700;
    expect(definitions.cached('q', a)).toBe(first);
  });

  test('a caller without a cached definition waits longer for the catalog than one with a stale definition', async () => {
    const { definitions, catalog, asked } = setup();
    catalog.now = answer(1);
    await definitions.query('q', a, { signal: idle });
    clock.ms += 500;
    definitions.cached('q', a);
    await settled();
    clock.ms += 1_500;
    await definitions.query('q', a, { signal: idle });
    expect(asked.map(({ timeoutMs }) => Math.round(timeoutMs / 100) * 100)).toEqual([5_000, 1_000, 1_000]);
  });

  test('a definition with a lease of 0 is used once, and a lease longer than a second is shortened', async () => {
    const { definitions, catalog } = setup();
    catalog.now = { ...answer(1), leaseMs: 0 };
    await definitions.query('q', a, { signal: idle });
    expect(definitions.cached('q', a)).toBeUndefined();
    catalog.now = { ...answer(1), leaseMs: 3_600_000 };
    await definitions.query('q', a, { signal: idle });
    clock.ms += 1_000;
    expect(definitions.cached('q', a)).toBeUndefined();
  });

  test('an answer that takes longer than its lease is used once', async () => {
    const { definitions, catalog, asked } = setup();
    const query = definitions.query('q', a, { signal: idle });
    clock.ms += 1_000;
    asked[0]?.resolve(answer(1));
    expect((await query).version).toBe(1);
    expect(definitions.size).toBe(0);
    catalog.now = away;
    await expect(definitions.query('q', a, { signal: idle })).rejects.toBe(away);
  });

  test('a late answer with an older definition replaces nothing', async () => {
    const { definitions, catalog, asked } = setup();
    const late = definitions.query('q', a, { signal: idle });
    definitions.invalidate(['other']);
    catalog.now = answer(2);
    const current = await definitions.query('q', a, { signal: idle });
    asked[0]?.resolve(answer(1));
    expect((await late).version).toBe(1);
    expect(definitions.cached('q', a)).toBe(current);
  });

  test('a definition of a catalog that was restored from a backup is cached once the newer one has expired', async () => {
    const { definitions, catalog, asked } = setup();
    catalog.now = answer(5);
    const newer = await definitions.query('q', a, { signal: idle });
    clock.ms += 999;
    catalog.now = answer(3);
    expect(definitions.cached('q', a)).toBe(newer);
    await settled();
    expect(definitions.cached('q', a)).toBe(newer);
    clock.ms += 1;
    expect(definitions.cached('q', a)).toBeUndefined();
    const restored = await definitions.query('q', a, { signal: idle });
    expect(definitions.cached('q', a)).toBe(restored);
    expect(restored.version).toBe(3);
    expect(asked).toHaveLength(3);
  });

  test('the number of cached definitions is limited', async () => {
    const { definitions, catalog } = setup();
    for (const queryId of ['q1', 'q2', 'q3', 'q4']) {
      const { query, ...rest } = answer(1);
      catalog.now = { ...rest, query: { ...(query as NonNullable<typeof query>), queryId } };
      await definitions.query(queryId, a, { signal: idle });
    }
    expect(definitions.size).toBe(3);
    expect(definitions.cached('q1', a)).toBeUndefined();
  });
});

describe('invalidation', () => {
  test.each(['q', 's', 'h'])('of %s drops the definition at once', async (id) => {
    const { definitions, catalog } = setup();
    catalog.now = answer(1);
    await definitions.query('q', a, { signal: idle });
    definitions.invalidate(['other']);
    expect(definitions.cached('q', a)).toBeDefined();
    definitions.invalidate([id]);
    expect(definitions.cached('q', a)).toBeUndefined();
  });

  test('a response to an earlier request is not cached, and later callers do not wait for it', async () => {
    const { definitions, asked } = setup();
    const before = definitions.query('q', a, { signal: idle });
    definitions.invalidate(['q']);
    const after = definitions.query('q', a, { signal: idle });
    asked[0]?.resolve(answer(1));
    expect((await before).version).toBe(1);
    expect(definitions.cached('q', a)).toBeUndefined();
    asked[1]?.resolve(answer(2));
    expect((await after).version).toBe(2);
    expect(definitions.cached('q', a)?.version).toBe(2);
  });
});

test('changes of other ids do not prevent caching', async () => {
  const { definitions, asked } = setup();
  const query = definitions.query('q', a, { signal: idle });
  definitions.invalidate(['other']);
  asked[0]?.resolve(answer(1));
  await query;
  expect(definitions.cached('q', a)).toBeDefined();
});

describe('accounts', () => {
  test('the request to the catalog does not contain the limits of the key', async () => {
    const { definitions, catalog, asked } = setup();
    catalog.now = answer(1);
    const limits = {
      hubIds: ['x'],
      queryIds: ['y'],
      classifierIds: [],
      queries: [],
      origins: [],
      contextJson: '{}',
    };
    await definitions.query('q', { ...a, limits }, { signal: idle });
    expect(asked[0]?.limits).toBeUndefined();
  });

  test('another account sends its own request, and never gets a definition cached for this one', async () => {
    const { definitions, catalog, asked } = setup();
    catalog.now = answer(1);
    await definitions.query('q', a, { signal: idle });
    expect(definitions.cached('q', b)).toBeUndefined();
    catalog.now = gone;
    await expect(definitions.query('q', b, { signal: idle })).rejects.toBe(gone);
    expect(asked.map(({ accountId }) => accountId)).toEqual(['a', 'b']);
    expect(definitions.cached('q', a)).toBeDefined();
    catalog.now = away;
    await expect(definitions.query('q', b, { signal: idle })).rejects.toBe(away);
  });
});

describe('an unreachable catalog', () => {
  test('cached definitions are used for a minute', async () => {
    const { definitions, catalog, asked } = setup();
    catalog.now = answer(1);
    const definition = await definitions.query('q', a, { signal: idle });
    catalog.now = away;
    clock.ms += 59_000;
    expect(definitions.cached('q', a)).toBeUndefined();
    expect(await definitions.query('q', a, { signal: idle })).toBe(definition);
    expect(definitions.cached('q', a)).toBe(definition);
    expect(asked).toHaveLength(2);
    clock.ms += 1_000;
    expect(definitions.cached('q', a)).toBeUndefined();
    await expect(definitions.query('q', a, { signal: idle })).rejects.toBe(away);
  });

  test('the responses of the catalog apply again once it is reachable', async () => {
    const { definitions, catalog } = setup();
    catalog.now = answer(1);
    await definitions.query('q', a, { signal: idle });
    catalog.now = away;
    clock.ms += 5_000;
    await definitions.query('q', a, { signal: idle });
    catalog.now = gone;
    clock.ms += 250;
    expect(definitions.cached('q', a)).toBeDefined();
    await settled();
    expect(definitions.cached('q', a)).toBeUndefined();
    await expect(definitions.query('q', a, { signal: idle })).rejects.toBe(gone);
  });

  test('one request at a time finds out whether it is back, and no caller waits for it', async () => {
    const { definitions, catalog, asked } = setup();
    catalog.now = answer(1);
    const definition = await definitions.query('q', a, { signal: idle });
    // The renewal in the background is not answered.
    catalog.now = undefined;
    clock.ms += 500;
    definitions.cached('q', a);
    clock.ms += 400;
    asked[1]?.reject(away);
    await settled();
    for (const sent of [3, 4]) {
      for (let i = 0; i < 3; i++) {
        clock.ms += 300;
        expect(definitions.cached('q', a)).toBe(definition);
      }
      expect(asked).toHaveLength(sent);
      asked.at(-1)?.reject(away);
      await settled();
    }
    clock.ms += 300;
    definitions.cached('q', a);
    asked.at(-1)?.resolve(answer(2));
    await settled();
    expect(definitions.cached('q', a)).toMatchObject({ version: 2 });
  });

  test('a renewal that finds the query gone drops it', async () => {
    const { definitions, catalog } = setup();
    catalog.now = answer(1);
    await definitions.query('q', a, { signal: idle });
    catalog.now = gone;
    clock.ms += 500;
    expect(definitions.cached('q', a)).toBeDefined();
    await settled();
    expect(definitions.cached('q', a)).toBeUndefined();
  });
});

test('a caller that leaves does not wait for the catalog', async () => {
  const { definitions } = setup();
  const caller = new AbortController();
  const query = definitions.query('q', a, { signal: caller.signal });
  caller.abort();
  await expect(query).rejects.toMatchObject({ code: 'CANCELLED' });
});
