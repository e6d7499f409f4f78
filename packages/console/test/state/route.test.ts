import { afterAll, beforeAll, expect, it, vi } from 'vitest';

// What a browser does: the address changes at once, and the page is told in a later task.
const address = { hash: '#/hub/h/query/q?region=north' };
const toldLater = new Set<() => void>();
const tell = () => {
  for (const listener of toldLater) listener();
};

beforeAll(() => {
  vi.stubGlobal('location', address);
  vi.stubGlobal('history', {
    replaceState: (_state: unknown, _title: string, hash: string) => {
      address.hash = hash;
    },
  });
  vi.stubGlobal('addEventListener', (_name: string, listener: () => void) => toldLater.add(listener));
  vi.stubGlobal('scrollTo', () => undefined);
});
afterAll(() => vi.unstubAllGlobals());

it('follows a link although a value reaches the address before the browser tells of the link', async () => {
  const { addressQuery, route, setAddressQuery } = await import('../../src/state/route.ts');
  setAddressQuery('region=south');
  expect([address.hash, addressQuery.value]).toEqual(['#/hub/h/query/q?region=south', 'region=south']);
  address.hash = '#/hub/h/query/q/use';
  setAddressQuery('region=south-east');
  tell();
  expect([address.hash, ...route.value]).toEqual(['#/hub/h/query/q/use', 'hub', 'h', 'query', 'q', 'use']);
  setAddressQuery('region=south-east');
  expect(address.hash).toBe('#/hub/h/query/q/use?region=south-east');
});
