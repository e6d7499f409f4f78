/** How a PostgreSQL source is reached: poolers and several hosts, from the settings to the executions. */

import { beforeAll, describe, expect, it } from 'vitest';
import { accessOf } from '../support/databases.ts';
import { api } from '../support/hub.ts';

describe('the servers of a postgres source', () => {
  const address = { host: 'a.db.example', port: 5_432, database: 'd', user: 'reader', password: 'secret' };
  const optional = {
    hosts: [{ host: 'b.db.example', port: 5_433 }],
    targetSessionAttrs: 'prefer-standby',
    pooling: 'transaction',
  };
  let hubId: string;
  const make = (settings: object, engine = 'postgres') =>
    api.post('/v1/sources', { hubId, label: 's', engine, connectionSettings: { ...address, ...settings } });
  const save = (sourceId: string, query: string, command: string) =>
    api.post('/v1/queries', { hubId, label: 'q', sourceId, query, command });

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'servers' })));
  });

  it('are kept, changed, and taken away by null', async () => {
    const { sourceId } = await api.ok(make(optional));
    const path = `/v1/sources/${sourceId}`;
    const shown = async () => (await api.ok(api.get(path))).connectionSettings;
    const put = (settings: object) => api.put(path, { connectionSettings: settings });
    expect(await shown()).toMatchObject(optional);
    await api.ok(put({ pooling: null, targetSessionAttrs: 'primary' }));
    expect(await shown()).not.toHaveProperty('pooling');
    expect(await shown()).toMatchObject({ hosts: optional.hosts, targetSessionAttrs: 'primary' });
    const moved = { hosts: [{ host: 'c.db.example', port: 1 }] };
    const { status, body } = await put(moved);
    expect([status, body.errors[0].pointer]).toEqual([400, '/connectionSettings/user']);
    await api.ok(put({ ...moved, user: 'reader', password: 'secret' }));
    expect(await shown()).toMatchObject(moved);
  });

  it.each<[string, object, string]>([
    ['pooling', { pooling: 'statement' }, 'postgres'],
    ['pooling', { pooling: 'transaction' }, 'mongodb'],
    ['targetSessionAttrs', { targetSessionAttrs: 'any' }, 'mariadb'],
    ['hosts', { hosts: optional.hosts }, 'mysql'],
    ['srv', { srv: true }, 'postgres'],
  ])('are refused at %s where they cannot be: %j', async (name, settings, engine) => {
    const { status, body } = await make(settings, engine);
    expect([status, body.errors[0].pointer]).toEqual([400, `/connectionSettings/${name}`]);
  });

  it('refuse what needs a session when a query is saved, behind a pooler in transaction mode alone', async () => {
    const pooled = (await api.ok(make({ pooling: 'transaction' }))).sourceId;
    const alone = (await api.ok(make({}))).sourceId;
    const texts: [string, string][] = [
      ['SELECT 1, pg_try_advisory_lock(1)', 'SELECT'],
      ['CREATE TEMP TABLE t (id int)', 'CREATE'],
      ['VACUUM t', 'VACUUM'],
      ['CREATE UNIQUE INDEX CONCURRENTLY i ON t (id)', 'CREATE'],
    ];
    for (const [query, command] of texts) {
      const { status, body } = await save(pooled, query, command);
      expect([query, status, body.code]).toEqual([query, 422, 'SQL_REJECTED']);
      const { queryId } = (await api.ok(save(alone, query, command))).config.query;
      const moved = await api.put(`/v1/queries/${queryId}`, { config: { source: { sourceId: pooled } } });
      expect([query, moved.status]).toEqual([query, 422]);
    }
    await api.ok(save(pooled, "SELECT pg_advisory_xact_lock(1), 'pg_advisory_lock(1)'", 'SELECT'));
  });

  const pooler = process.env.PGBOUNCER_TRANSACTION_URL;
  it.skipIf(pooler === undefined)(
    'are suggested by the test of a source (needs PGBOUNCER_TRANSACTION_URL)',
    async () => {
      const settings = accessOf(pooler as string);
      const { sourceId } = await api.ok(make(settings));
      const tested = await api.ok(api.post(`/v1/sources/${sourceId}/test`));
      expect(tested).toMatchObject({ ok: true, suggestedPooling: 'transaction' });
      await api.ok(api.put(`/v1/sources/${sourceId}`, { connectionSettings: { pooling: 'transaction' } }));
      expect(await api.ok(api.post(`/v1/sources/${sourceId}/test`))).not.toHaveProperty('suggestedPooling');
    },
  );
});
