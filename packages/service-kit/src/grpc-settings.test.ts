import { expect, it } from 'vitest';
import { readAddresses, readTargets } from './grpc-settings.ts';
import { readSettings } from './settings.ts';

const name = 'DATAHUB_CATALOG_ADDRESS';
const addresses = (text: string) =>
  readSettings({ [name]: text }, (reader) => readAddresses(reader, name, []));
const targets = (text: string) => readSettings({ [name]: text }, (reader) => readTargets(reader, name, []));

it('takes names and addresses with a port', () => {
  const good = ['catalog:7071', 'hub-catalog.data-hub.svc:7071', '127.0.0.1:7071', '[::1]:7071'];
  for (const text of good) expect(addresses(text)).toEqual([text]);
  expect(addresses('a:1,b:2')).toEqual(['a:1', 'b:2']);
});

it.each(['catalog', 'http://catalog:7071', 'catalog:', ':7071', 'catalog:port', '::1:7071'])(
  'refuses %s, with the setting',
  (text) => expect(() => addresses(text)).toThrow(`${name} must be host:port`),
);

it('refuses several names where one is looked up and several are taken as they are', () => {
  expect(targets('127.0.0.1:1,127.0.0.2:1')).toHaveLength(2);
  expect(targets('catalog:1')).toEqual(['catalog:1']);
  expect(() => targets('a:1,b:2')).toThrow(`${name}: several must be IPv4 addresses`);
});
