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

test('refuses other servers of the source, and passes on those that it was sealed for', async () => {
  const { publicKey, privateKey } = await generateKeyPair();
  const [seal, opener] = [await createSealer([publicKey]), await createOpener([privateKey])];
  const servers = {
    hosts: [{ host: 'b.example', port: 3306 }],
    srv: true,
    authMechanism: 'PLAIN',
    passwordFrom: { kind: 'aws-rds-iam', region: 'eu-central-1' },
  } satisfies SourceDefinition['servers'];
  const wide = { ...bare, servers };
  const [user, password] = [
    await seal('jo', bindingOf(wide, 'user')),
    await seal('s3cret', bindingOf(wide, 'password')),
  ];
  const source: SourceDefinition = { ...wide, sealed: { user, password, tlsKey: '' } };
  expect(await unseal(source, opener)).toMatchObject({ ...servers, user: 'jo', password: 's3cret' });
  const others: SourceDefinition['servers'][] = [
    { hosts: [{ host: 'evil.example', port: 3306 }] },
    { srv: false },
    { authMechanism: 'SCRAM-SHA-1' },
    { passwordFrom: { ...servers.passwordFrom, region: 'us-east-1' } },
  ];
  for (const other of others)
    await expect(unseal({ ...source, servers: { ...servers, ...other } }, opener)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
});

test('passes on the secret of a bastion, and refuses another bastion, for the database too', async () => {
  const { publicKey, privateKey } = await generateKeyPair();
  const [seal, opener] = [await createSealer([publicKey]), await createOpener([privateKey])];
  const ssh = { host: 'bastion.example', port: 22, user: 'hub', hostKey: 'SHA256:x' };
  const behind = { ...bare, ssh };
  const sealed = {
    user: await seal('jo', bindingOf(behind, 'user')),
    password: await seal('s3cret', bindingOf(behind, 'password')),
    tlsKey: '',
    sshPrivateKey: await seal('KEY', bindingOf(behind, 'ssh.privateKey')),
  };
  const source: SourceDefinition = { ...behind, sealed };
  expect(await unseal(source, opener)).toMatchObject({
    password: 's3cret',
    ssh: { ...ssh, privateKey: 'KEY', password: undefined },
  });
  const others: SourceDefinition['ssh'][] = [
    undefined,
    { ...ssh, host: 'evil.example' },
    { ...ssh, port: 23 },
    { ...ssh, user: 'root' },
    { ...ssh, hostKey: 'SHA256:y' },
  ];
  for (const other of others)
    await expect(unseal({ ...source, ssh: other }, opener)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});
