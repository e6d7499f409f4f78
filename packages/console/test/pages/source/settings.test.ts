import { afterAll, expect, it, vi } from 'vitest';
import type { Source } from '../../../src/api/types.ts';

// The module also sends requests, with the key of the tab.
vi.stubGlobal('sessionStorage', { getItem: () => null });
afterAll(() => vi.unstubAllGlobals());
const { changeOf, formOf, hostsOf } = await import('../../../src/pages/source/settings.ts');

it.each([
  ['', []],
  [' db2 \n\n db3:5433 ', [['db2', 5432] as const, ['db3', 5433] as const]],
  [
    '[2001:db8::1]:5433\n2001:db8::2, 10.0.0.3:1',
    [['2001:db8::1', 5433] as const, ['2001:db8::2', 5432] as const, ['10.0.0.3', 1] as const],
  ],
  // The hub says what is wrong with it.
  ['db2:here', [['db2', 'here'] as const]],
])('reads servers from %j', (text, servers) => {
  expect(hostsOf(text, 5432)).toEqual(servers.map(([host, port]) => ({ host, port })));
});

const source: Source = {
  ...{ sourceId: 's', accountId: 'a', hubId: 'h', label: 'Orders', engine: 'postgres', driver: null },
  connectionSettings: {
    ...{ host: 'db', port: 5432, database: 'orders', user: 'an********', password: 'p********' },
    ...{ tls: { mode: 'require' }, pool: { max: 3 }, hosts: [{ host: 'db2', port: 5432 }] },
  },
  ...{ createdAt: '2026-01-01T00:00:00Z', updatedAt: null },
};

it('sends only the settings that a person changed', () => {
  const form = formOf(source);
  expect(changeOf(form, source)).toEqual({});
  expect(changeOf({ ...form, label: ' New ' }, source)).toEqual({ label: 'New' });
  const changed = { ...form, poolMax: '', statementTimeoutMs: '5000', hosts: '', tlsMode: 'verify-full' };
  expect(changeOf(changed, source)).toEqual({
    connectionSettings: {
      pool: { max: null },
      statementTimeoutMs: 5_000,
      hosts: null,
      tls: { mode: 'verify-full', ca: null, cert: null, key: null },
    },
  });
  expect(changeOf({ ...form, engine: 'mysql', user: 'me' }, source)).toMatchObject({
    engine: 'mysql',
    connectionSettings: { user: 'me' },
  });
});
