import { afterAll, beforeAll, expect, it, vi } from 'vitest';

// What a browser does: the address changes at once, and the page is told in a later task.
const address = { hash: '#/hub/h/query/q?region=north' };
const entry = { state: null as unknown };
const toldLater = new Set<() => void>();
const tell = () => {
  for (const listener of toldLater) listener();
};

beforeAll(() => {
  vi.stubGlobal('location', address);
  vi.stubGlobal('history', {
    get state() {
      return entry.state;
    },
    replaceState: (state: unknown, _title: string, hash: string) => {
      address.hash = hash;
      entry.state = state;
    },
  });
  vi.stubGlobal('addEventListener', (_name: string, listener: () => void) => toldLater.add(listener));
  vi.stubGlobal('scrollTo', () => undefined);
});
afterAll(() => vi.unstubAllGlobals());

it('takes values out of the address, and follows a link that the browser has not told of', async () => {
  const { addressQuery, route, setAddressQuery } = await import('../../src/state/route.ts');
  expect(addressQuery.value).toBe('region=north');
  setAddressQuery('region=north');
  expect([address.hash, addressQuery.value]).toEqual(['#/hub/h/query/q', 'region=north']);
  setAddressQuery('region=south');
  expect([address.hash, entry.state]).toEqual(['#/hub/h/query/q', { values: 'region=south' }]);
  address.hash = '#/hub/h/query/q/use';
  entry.state = null;
  setAddressQuery('region=south-east');
  tell();
  expect([address.hash, ...route.value]).toEqual(['#/hub/h/query/q/use', 'hub', 'h', 'query', 'q', 'use']);
  setAddressQuery('region=south-east');
  expect([address.hash, entry.state]).toEqual(['#/hub/h/query/q/use', { values: 'region=south-east' }]);
  // Back.
  address.hash = '#/hub/h/query/q';
  entry.state = { values: 'region=south' };
  tell();
  expect(addressQuery.value).toBe('region=south');
});
