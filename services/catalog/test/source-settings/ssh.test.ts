import { generateKeyPairSync } from 'node:crypto';
import type { Ssh } from '@datahub/proto/catalog/v1/catalog';
import { expect, it } from 'vitest';
import type { SourceDoc } from '../../src/documents.ts';
import { makeSource, patchSource } from '../../src/source.ts';

const hostKey =
  'bastion.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl';
const seal = async (plain: string) => `sealed ${plain}`;
const { privateKey: pem } = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
});
const { privateKey: encryptedPem } = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs1', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
});
const openssh = (cipher: string) => {
  const head = Buffer.from(`openssh-key-v1\0\0\0\0${String.fromCharCode(cipher.length)}${cipher}`);
  const body = Buffer.concat([head, Buffer.alloc(40)]).toString('base64');
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${body}\n-----END OPENSSH PRIVATE KEY-----\n`;
};

const make = (ssh: Partial<Ssh>): Promise<SourceDoc> => {
  const address: Ssh = { host: 'b', port: undefined, user: 'hub', hostKey, ...ssh };
  const settings = { host: 'db', port: 1, database: 'd', user: 'u', password: 'p', ssh: address };
  const input = { hubId: 'h', parentNodeId: 'n', label: 'l', engine: 'mysql', settings };
  return makeSource(input, { accountId: 'a', createId: () => 's', nowMs: 1, seal });
};

it.each([
  ['PEM', pem, undefined],
  ['OpenSSH', openssh('none'), undefined],
  ['PEM with a passphrase', encryptedPem, 'must have no passphrase'],
  ['OpenSSH with a passphrase', openssh('aes256-ctr'), 'must have no passphrase'],
  ['a public key', hostKey, 'must be a private key'],
])('takes keys that the hub can use: %s', async (_, privateKey, fault) => {
  const made = make({ privateKey });
  if (fault !== undefined)
    await expect(made).rejects.toMatchObject({ message: expect.stringContaining(fault) });
  else expect((await made).ssh).toMatchObject({ port: 22, privateKey: { mask: '********' } });
});

it('replaces one secret with the other, and keeps what is left out', async () => {
  const source = await make({ password: 'first' });
  const patch = (ssh: Partial<Ssh>) => patchSource(source, { settings: { ssh: ssh as Ssh } }, seal);
  expect(await patch({ port: 22 })).toBe(source);
  expect((await patch({ privateKey: pem })).ssh).toEqual({
    ...{ host: 'b', port: 22, user: 'hub', hostKey },
    privateKey: { sealed: `sealed ${pem.trim()}`, mask: '********' },
  });
  expect((await patch({ password: 'second' })).ssh?.password?.sealed).toBe('sealed second');
  await expect(patch({ password: '' })).rejects.toMatchObject({ code: 'VALIDATION' });
  await expect(patch({ port: 23 })).rejects.toMatchObject({ code: 'VALIDATION' });
  await expect(patch({ host: '' })).rejects.toMatchObject({ code: 'VALIDATION' });
});
