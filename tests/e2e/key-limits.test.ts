import { type KeyLimit, keyLimitNames } from '@datahub/contract/key-limits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api, makeResources } from '../support/hub.ts';
import {
  ask as askRoute,
  bodyNames,
  type Column,
  columns,
  type Ids,
  isRefused,
  type Named,
  placeOf,
  type Reach,
  routes,
  table,
} from './route-reach.ts';

/** Limits that hold on every route alike, and those that hold in executions. */
const everywhere: KeyLimit[] = ['origins', 'ratePerMinute', 'user'];
const inExecutions: KeyLimit[] = ['maxRows', 'strict'];

const inside: Ids = {};
const outside: Ids = {};
const made: string[] = [];

interface Limited {
  key: string;
  limits: object;
  /** The resources, with a key and a job of the limited key's own where it can have them. */
  own: Ids;
  other: Ids;
}
const limited = {} as Record<Column, Limited>;

async function makeKey(
  limits: object,
  scopes: string[],
  key?: string,
): Promise<{ keyId: string; key: string }> {
  const { keyId, key: secret } = await api.ok(
    api.post('/v1/keys', { name: 'limits', scopes, limits }, key === undefined ? {} : { key }),
  );
  made.push(keyId);
  return { keyId, key: secret };
}

const startJob = async ({ classifierId, queryId }: Ids, key: string): Promise<string | undefined> => {
  const job = { queryId, text: 'one', label: 'one', id: 'none' };
  return (await api.post(`/v1/classifiers/${classifierId}/train`, job, { key })).body.jobId;
};

async function makeLimited(limits: object): Promise<Limited> {
  const { key } = await makeKey(limits, ['*']);
  const child = await makeKey(limits, ['queries:execute'], key);
  const jobId = (await startJob(inside, key)) ?? (inside.jobId as string);
  const sibling = await makeKey(limits, ['queries:execute']);
  return {
    key,
    limits,
    own: { ...inside, keyId: child.keyId, jobId },
    other: { ...outside, keyId: sibling.keyId },
  };
}

beforeAll(async () => {
  for (const ids of [inside, outside]) {
    await makeResources(ids);
    await api.ok(api.put(`/v1/queries/${ids.queryId}`, { meta: { path: 'mine' } }));
  }
  const { hubId, queryId, classifierId } = inside;
  limited.hubIds = await makeLimited({ hubIds: [hubId] });
  limited.queryIds = await makeLimited({ queryIds: [queryId] });
  await api.ok(api.put(`/v1/hubs/${hubId}`, { label: 'mine', path: 'inside' }));
  limited.queries = await makeLimited({ queries: ['inside/mine'] });
  limited.classifierIds = await makeLimited({ hubIds: [hubId], classifierIds: [classifierId] });
  limited.context = await makeLimited({ context: { tenant: 1 } });
});

afterAll(async () => {
  await Promise.all(made.map((keyId) => api.delete(`/v1/keys/${keyId}`)));
});

/** The resources with a new job or key for the request that deletes it. `by`: the key that has it. */
async function renewed(
  { name }: Named,
  ids: Ids,
  { by, limits }: { by?: string; limits: object },
): Promise<Ids> {
  if (name === 'DELETE /v1/keys/:keyId')
    return { ...ids, keyId: (await makeKey(limits, ['queries:execute'], by)).keyId };
  const jobId = name === 'DELETE /v1/jobs/:jobId' && by !== undefined && (await startJob(ids, by));
  return jobId ? { ...ids, jobId } : ids;
}

/** Keys that are created are removed at the end. */
async function ask(route: Named, ids: Ids, { key, limits }: Pick<Limited, 'key' | 'limits'>, headers = {}) {
  const answer = await askRoute(route, ids, { key, limits, headers });
  if (route.name === 'POST /v1/keys' && answer.status === 200) made.push(answer.body.keyId);
  return answer;
}

it('has a row for every route and a place for every limit', () => {
  expect(Object.keys(table).sort()).toEqual(routes.map(({ name }) => name).sort());
  expect([...columns, ...everywhere, ...inExecutions].sort()).toEqual([...keyLimitNames].sort());
});

describe.each(columns)('a key with %s', (column) => {
  it.each(routes.map((route) => [route.name, route] as const))('%s', async (name, route) => {
    const reach = table[name]?.[placeOf(column)] as Reach;
    const principal = limited[column];
    const { key: by, limits } = principal;
    const own = await renewed(route, principal.own, { by, limits });
    const other = await renewed(route, principal.other, { limits });
    const isAbout =
      /:\w+/.test(route.path) ||
      bodyNames(route, own) ||
      (route.query ?? []).some((one) => /^(hubId|resourceId)$/.test(one));
    const answer = await ask(route, own, principal);
    const where = `${name}: ${answer.text.slice(0, 300)}`;
    expect(isRefused(answer.status), where).toBe(reach === 'none');
    expect([401, 429, 500, 400], where).not.toContain(answer.status);
    if (!isAbout) {
      // A list, which must not name what is outside.
      if (reach === 'own') for (const id of Object.values(other)) expect(answer.text).not.toContain(id);
      return;
    }
    const foreign = await ask(route, other, principal);
    expect(isRefused(foreign.status), `${name}, outside: ${foreign.text.slice(0, 300)}`).toBe(
      reach !== 'all',
    );
  });
});

describe('on every route', () => {
  const signedIn = {
    issuer: 'https://id.example/',
    audience: 'a',
    jwks: { keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }] },
    claims: { customer: 'sub' },
  };

  it('origins refuse callers that are no browser', async () => {
    const limits = { origins: ['https://shop.example'] };
    const { key } = await makeKey(limits, ['*']);
    for (const route of routes)
      expect([route.name, (await ask(route, inside, { key, limits })).status]).toEqual([route.name, 403]);
    const headers = { origin: 'https://shop.example' };
    expect((await api.get('/v1/keys/current', { key, headers })).status).toBe(200);
  });

  it('ratePerMinute counts requests', async () => {
    const limits = { ratePerMinute: 1 };
    const { key } = await makeKey(limits, ['*']);
    expect((await api.get('/v1/keys/current', { key })).status).toBe(200);
    for (const route of routes)
      expect([route.name, (await ask(route, inside, { key, limits })).status]).toEqual([route.name, 429]);
  });

  it('user needs a token', async () => {
    const limits = { queryIds: [inside.queryId], user: { ...signedIn, public: [inside.queryId] } };
    const { key } = await makeKey(limits, ['queries:execute']);
    for (const route of routes)
      expect([route.name, (await ask(route, inside, { key, limits })).status]).toEqual([route.name, 401]);
  });
});

describe('in every execution', () => {
  const executions = routes.filter(({ executes }) => executes);

  it('strict refuses unknown variables, and maxRows cuts', async () => {
    expect(executions.length).toBeGreaterThan(2);
    const { hubId, sourceId } = inside;
    const query = 'SELECT 1 AS one UNION ALL SELECT 2';
    const stored = await api.ok(
      api.post('/v1/queries', { hubId, sourceId, label: 'two', query, path: 'two' }),
    );
    const { queryId } = stored.config.query;
    const key = async (limits: object) => (await makeKey(limits, ['queries:execute'])).key;
    const [strict, short] = [await key({ strict: true }), await key({ maxRows: 1 })];
    for (const { method, path: url } of executions) {
      const path = url
        .replace(':queryId', queryId)
        .replace(':hubId', hubId as string)
        .replace('*', 'two');
      const body = method === 'POST' ? { queryId, context: { nope: 1 } } : undefined;
      const unknown = await api.call(method, method === 'GET' ? `${path}?nope=1` : path, {
        key: strict,
        body,
      });
      expect([400, 422], path).toContain(unknown.status);
      const cut = await api.call(method, path, {
        key: short,
        body: method === 'POST' ? { queryId } : undefined,
      });
      expect([path, cut.body.data ?? cut.body]).toEqual([path, [{ one: 1 }]]);
    }
  });
});

describe('keys:admin', () => {
  it('sees of stronger keys id, name and state alone, and which limits take something from a key', async () => {
    const { key } = await makeKey({}, ['keys:admin', 'queries:execute']);
    const pinned = await makeKey({ hubIds: [inside.hubId], context: { tenant: 'secret-tenant' } }, ['*']);
    const listed: { keyId: string }[] = await api.ok(api.get('/v1/keys', { key }));
    const find = (keyId: string) => listed.find((one) => one.keyId === keyId);
    expect(find(pinned.keyId)).toEqual({ keyId: pinned.keyId, name: 'limits', state: 'active' });
    expect(JSON.stringify(listed)).not.toContain('secret-tenant');
    expect((await api.get(`/v1/keys/${pinned.keyId}/usage`, { key })).status).toBe(403);
    const all: { keyId: string; withheld?: { scope: string; limit: string }[] }[] = await api.ok(
      api.get('/v1/keys'),
    );
    const withheldOf = (id: string) =>
      all.find(({ keyId }) => keyId === id)?.withheld?.map(({ scope, limit }) => `${scope} ${limit}`);
    expect(withheldOf(pinned.keyId)).toEqual([
      'classifiers:write hubIds',
      'classifiers:train hubIds',
      'classifiers:read hubIds',
      'keys:read hubIds',
      'keys:admin hubIds',
    ]);
  });

  it('cannot give classifierIds that it may not train', async () => {
    const limits = { hubIds: [inside.hubId], classifierIds: [outside.classifierId] };
    for (const column of ['hubIds', 'classifierIds'] as const) {
      const { key } = limited[column];
      expect((await api.post('/v1/keys', { name: 'k', limits }, { key })).status).toBe(403);
    }
    const unknown = { ...limits, classifierIds: ['dh.clfr.01m7xzzzzz0000000000000000zzzz'] };
    const { status, body } = await api.post('/v1/keys', { name: 'k', limits: unknown });
    expect([status, body.errors?.[0]?.pointer]).toEqual([400, '/limits/classifierIds/0']);
  });

  it('reads no audit of the account if it is limited', async () => {
    for (const column of ['hubIds', 'queryIds', 'classifierIds'] as const)
      for (const search of ['', `?keyId=${inside.keyId}`, `?resourceId=${inside.classifierId}`])
        expect((await api.get(`/v1/audit${search}`, limited[column])).status).toBe(403);
  });

  it('keeps its keys when it is replaced', async () => {
    const { key, own } = limited.hubIds;
    const { keyId } = await api.ok(api.get('/v1/keys/current', { key }));
    const next = await api.ok(api.post(`/v1/keys/${keyId}/rotate`, { overlapSeconds: 600 }, { key }));
    made.push(next.keyId);
    const listed: { keyId: string }[] = await api.ok(api.get('/v1/keys', { key: next.key }));
    expect(listed.map((one) => one.keyId)).toEqual(expect.arrayContaining([own.keyId, keyId, next.keyId]));
  });
});
