import { generateKeyPair } from '@datahub/sealing/key-pair';
import { createOpener } from '@datahub/sealing/opener';
import { createSealer } from '@datahub/sealing/sealer';
import { expect, test } from 'vitest';
import { bindingOf, unseal } from '../../src/credentials/unseal.ts';
import type { SourceDefinition } from '../../src/definitions/definition.ts';
import { source as plain } from '../fakes/pipeline.ts';

const bare: SourceDefinition = {
  ...plain,
  engine: 'mysql',
  host: 'db.example',
  port: 3306,
  tls: { mode: 'verify-full', ca: 'CA', cert: 'CERT' },
};

async function setup() {
  const { publicKey, privateKey } = await generateKeyPair();
  const seal = await createSealer([publicKey]);
  const sealed = {
    user: await seal('jo', bindingOf(bare, 'user')),
    password: await seal('s3cret', bindingOf(bare, 'password')),
    tlsKey: await seal('KEY', bindingOf(bare, 'tls.key')),
  };
  return { source: { ...bare, sealed }, opener: await createOpener([privateKey]) };
}

test('gives what an engine connects with', async () => {
  const { source, opener } = await setup();
  expect(await unseal(source, opener)).toEqual({
    engine: 'mysql',
    host: 'db.example',
    port: 3306,
    database: 'd',
    user: 'jo',
    password: 's3cret',
    tls: { mode: 'verify-full', ca: 'CA', cert: 'CERT', key: 'KEY' },
  });
  expect(await unseal({ ...source, authSource: 'admin' }, opener)).toMatchObject({ authSource: 'admin' });
  expect(await unseal(source, opener)).not.toHaveProperty('authSource');
  const without = { ...source, sealed: { ...source.sealed, tlsKey: '' } };
  expect((await unseal(without, opener)).tls).not.toHaveProperty('key');
});

test('refuses another address, another source, swapped fields', async () => {
  const { source, opener } = await setup();
  const { user, password } = source.sealed;
  for (const moved of [
    { ...source, host: 'evil.example' },
    { ...source, port: 3307 },
    { ...source, sourceId: 't' },
    { ...source, engine: 'mariadb' as const },
    { ...source, tls: { mode: 'disable' as const } },
    { ...source, sealed: { ...source.sealed, user: password, password: user } },
  ]) {
    await expect(unseal(moved, opener)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  }
});
