import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { readAddresses, readCallerSettings } from '../../src/grpc/settings.ts';
import { type Environment, readSettings } from '../../src/settings/settings.ts';

const name = 'DATAHUB_CATALOG_ADDRESS';
const addresses = (text: string) =>
  readSettings({ [name]: text }, (reader) => readAddresses(reader, name, []));

it('takes names and addresses with a port', () => {
  const good = ['catalog:7071', 'hub-catalog.data-hub.svc:7071', '127.0.0.1:7071', '[::1]:7071'];
  for (const text of good) expect(addresses(text)).toEqual([text]);
  expect(addresses('a:1,b:2')).toEqual(['a:1', 'b:2']);
});

it.each(['catalog', 'http://catalog:7071', 'catalog:', ':7071', 'catalog:port', '::1:7071'])(
  'refuses %s, with the setting',
  (text) => expect(() => addresses(text)).toThrow(`${name} must be host:port`),
);

it('refuses a token that no header can carry', () => {
  const token = (text: string) =>
    readSettings({ DATAHUB_SERVICE_TOKEN: text }, readCallerSettings).serviceToken;
  expect(token('t'.repeat(32))).toHaveLength(32);
  for (const odd of [`${'t'.repeat(20)}\n${'t'.repeat(20)}`, 'ü'.repeat(40)])
    expect(() => token(odd)).toThrow('DATAHUB_SERVICE_TOKEN must consist of visible ASCII characters.');
});

it('names the files of mutual TLS that are missing, and those that are none', () => {
  const file = fileURLToPath(import.meta.url);
  const tls = (env: Environment) => () => readSettings(env, readCallerSettings);
  expect(tls({ DATAHUB_TLS_CA: file })).toThrow(/DATAHUB_TLS_CERT is not set/);
  expect(tls({ DATAHUB_TLS_CA: file })).not.toThrow('cannot be read');
  expect(tls({ DATAHUB_TLS_CA: file, DATAHUB_TLS_CERT: file, DATAHUB_TLS_KEY: file })).toThrow(
    'DATAHUB_TLS_CA, DATAHUB_TLS_CERT, DATAHUB_TLS_KEY: the CA, the certificate and the key are invalid',
  );
});
