import { generateKeyPair } from '@datahub/sealing/key-pair';
import { type Environment, readSettings } from '@datahub/service-kit/settings/settings';
import { expect, test } from 'vitest';
import { readCatalogConfig } from '../src/config.ts';

const read = (env: Environment, options?: { apart: boolean }) =>
  readSettings(env, (reader) => readCatalogConfig(reader, options));

test('a catalog of its own needs a public sealing key, the embedded one takes those of the data directory', () => {
  expect(() => read({}, { apart: true })).toThrow('DATAHUB_SEALING_PUBLIC_KEYS is not set');
  expect(read({}).sealingPublicKeys).toEqual([]);
});

test('a private key in the place of the public one is refused without being shown: nothing would open what it seals', async () => {
  const { publicKey, privateKey } = await generateKeyPair();
  const given = (key: string) => () => read({ DATAHUB_SEALING_PUBLIC_KEYS: key }, { apart: true });
  expect(given(publicKey)().sealingPublicKeys).toEqual([publicKey]);
  expect(given(privateKey)).toThrow(/DATAHUB_SEALING_PUBLIC_KEYS: .*it is the private key/);
  expect(given(privateKey)).not.toThrow(privateKey.split(':')[1]);
});

test('a store needs a directory, or a server', () => {
  expect(read({ DATAHUB_STORE_URL: 'sqlite:/srv/hub/' }).storeUrl).toBe('sqlite:/srv/hub/catalog.db');
  for (const url of ['sqlite:', 'postgres://db/hub', 'mongodb:'])
    expect(() => read({ DATAHUB_STORE_URL: url })).toThrow('DATAHUB_STORE_URL');
});

test('the links of mails need an address that a path can follow', () => {
  const url = 'https://hub.example/data';
  expect(read({ DATAHUB_MAIL_URL: `${url}/` }).mail).toMatchObject({ url });
  for (const wrong of [
    'hub.example',
    `${url}?x=1`,
    `${url}#y`,
    'https://hub.example/a b',
    'https://a@hub.example',
  ])
    expect(() => read({ DATAHUB_MAIL_URL: wrong })).toThrow('DATAHUB_MAIL_URL');
});
