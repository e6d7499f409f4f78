import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

const quota = 3;

describe('an account that makes things without end', () => {
  let hub: SpawnedHub;
  let hubId: string;
  let sourceId: string;
  const ids = new Map<string, string>();

  beforeAll(async () => {
    hub = await spawnHub({ DATAHUB_ACCOUNT_QUOTA: String(quota) });
    const { api } = hub;
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'one' })));
    ({ sourceId } = await api.ok(api.post('/v1/sources', source())));
  });
  afterAll(() => hub.close());

  const source = () => ({
    hubId,
    label: 's',
    engine: 'postgres',
    connectionSettings: { host: 'db.example.com', port: 5432, user: 'u', password: 'p', database: 'd' },
  });
  const query = () => ({ hubId, sourceId, label: 'q', query: 'SELECT 1' });

  it.each<[string, string, () => object]>([
    ['hubs', '/v1/hubs', () => ({ label: 'more' })],
    ['folders', '/v1/hubs/:hubId/folders', () => ({ label: 'f' })],
    ['sources', '/v1/sources', source],
    ['queries', '/v1/queries', query],
    ['keys', '/v1/keys', () => ({ name: 'k', scopes: ['queries:read'] })],
    ['classifiers', '/v1/classifiers', () => ({ name: 'c' })],
  ])('has no more %s than the operator allows', async (what, path, body) => {
    const place = path.replace(':hubId', hubId);
    const answers: { status: number; body: any }[] = await Promise.all(
      Array.from({ length: 3 * quota }, () => hub.api.post(place, body())),
    );
    const made = answers.filter(({ status }) => status < 300);
    const refused = answers.filter(({ status }) => status >= 300);
    expect(made.length).toBeLessThanOrEqual(quota);
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, body: problem } of refused) {
      expect(problem).toMatchObject({ code: 'QUOTA_EXCEEDED' });
      expect(problem.detail).toContain(`The account has ${quota} ${what} already, and ${quota} are allowed.`);
      expect(status).toBe(403);
    }
    ids.set(what, made.at(-1)?.body.id);
  });

  it('has no more keys by rotating them', async () => {
    const [{ keyId }] = await hub.api.ok(hub.api.get('/v1/keys'));
    const { status, body } = await hub.api.post(`/v1/keys/${keyId}/rotate`);
    expect([status, body.code]).toEqual([403, 'QUOTA_EXCEEDED']);
  });

  it('makes more once something is gone', async () => {
    await hub.api.ok(hub.api.delete(`/v1/classifiers/${ids.get('classifiers')}`));
    await hub.api.ok(hub.api.post('/v1/classifiers', { name: 'again' }));
  });
});
