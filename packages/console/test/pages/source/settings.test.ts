import { afterAll, expect, it, vi } from 'vitest';

// The module also sends requests, with the key of the tab.
vi.stubGlobal('sessionStorage', { getItem: () => null });
afterAll(() => vi.unstubAllGlobals());
const { hostsOf } = await import('../../../src/pages/source/settings.ts');

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
