import { generateKeyPairSync } from 'node:crypto';
import ssh2 from 'ssh2';
import { describe, expect, it } from 'vitest';
import { usableCertificates } from '../../../src/network/handshake/costly-certificates.ts';
import { isUsableSshKey } from '../../../src/network/handshake/openssh-key.ts';
import { isUsablePublicKey, usableKey } from '../../../src/network/handshake/usable-keys.ts';
import {
  bits,
  certificate,
  compressedKey,
  dsaKey,
  explicitKey,
  integer,
  octets,
  odd,
  oid,
  pem,
  sequence,
  small,
} from './der.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'secp521r1' });
const edwards = generateKeyPairSync('ed25519');
const written = (key: typeof rsa.privateKey, type: 'pkcs1' | 'pkcs8' | 'sec1') =>
  key.export({ type, format: 'pem' }) as string;

/** An RSA key with numbers of so many bits. */
const rsaOf = (modulus: number, prime: number, ...more: Buffer[]) =>
  sequence(
    small(0),
    integer(odd(modulus)),
    small(3),
    integer(odd(modulus)),
    ...Array.from({ length: 5 }, () => integer(odd(prime))),
    ...more,
  );
const rsaName = sequence(oid('2a864886f70d010101'), Buffer.from([5, 0]));
const inPkcs8 = (key: Buffer) => pem('PRIVATE KEY', sequence(small(0), rsaName, octets(key)));

describe('a private key', () => {
  it.each([
    ['RSA', written(rsa.privateKey, 'pkcs1')],
    ['RSA in PKCS #8', written(rsa.privateKey, 'pkcs8')],
    ['RSA of 4,096 bits', pem('RSA PRIVATE KEY', rsaOf(4_096, 2_048))],
    ['EC', written(ec.privateKey, 'sec1')],
    ['EC in PKCS #8', written(ec.privateKey, 'pkcs8')],
    ['Ed25519', written(edwards.privateKey, 'pkcs8')],
  ])('may be %s', (_name, text) => {
    expect(usableKey(`a comment\n${text}`)?.replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
  });

  it.each([
    ['RSA of more bits', pem('RSA PRIVATE KEY', rsaOf(4_104, 2_048))],
    ['RSA with larger primes', pem('RSA PRIVATE KEY', rsaOf(2_048, 4_096))],
    ['RSA of more bits in PKCS #8', inPkcs8(rsaOf(8_192, 4_096))],
    ['RSA with a third prime', inPkcs8(rsaOf(2_048, 1_024, sequence(sequence(integer(odd(16_000))))))],
    ['DSA', pem('PRIVATE KEY', dsaKey(4_096))],
    [
      'EC with a curve of its own',
      pem('PRIVATE KEY', sequence(small(0), explicitKey(), octets(sequence(small(1))))),
    ],
    [
      'encrypted',
      rsa.privateKey.export({
        type: 'pkcs8',
        format: 'pem',
        cipher: 'aes-128-cbc',
        passphrase: 'p',
      }) as string,
    ],
    ['no key', 'text'],
  ])('is refused: %s', (_name, text) => {
    expect(usableKey(text)).toBeUndefined();
    expect(isUsableSshKey(text)).toBe(false);
  });

  it('of OpenSSH is bounded, too', () => {
    const { generateKeyPairSync: generate } = ssh2.utils;
    for (const key of [
      generate('rsa', { bits: 2_048 }),
      generate('ed25519'),
      generate('ecdsa', { bits: 384 }),
    ])
      expect(isUsableSshKey(key.private)).toBe(true);
    expect(isUsableSshKey(written(rsa.privateKey, 'pkcs1'))).toBe(true);
    expect(isUsableSshKey(opensshRsa(513))).toBe(true);
    expect(isUsableSshKey(opensshRsa(1_024))).toBe(false);
  });
});

const string = (bytes: Buffer | string) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, Buffer.from(bytes as Buffer)]);
};

function opensshRsa(modulusBytes: number): string {
  const numbers = [modulusBytes, 3, modulusBytes, 257, 257, 257].map((bytes) =>
    string(Buffer.alloc(bytes, 1)),
  );
  const key = Buffer.concat([Buffer.alloc(8), string('ssh-rsa'), ...numbers, string('')]);
  const head = [Buffer.from('openssh-key-v1\0'), string('none'), string('none'), string('')];
  return pem(
    'OPENSSH PRIVATE KEY',
    Buffer.concat([...head, Buffer.from([0, 0, 0, 1]), string(''), string(key)]),
  );
}

it('a server’s key for a password is one of RSA, of at most 4,096 bits', () => {
  const text = rsa.publicKey.export({ type: 'spki', format: 'pem' }) as string;
  const publicOf = (modulus: number) =>
    pem('PUBLIC KEY', sequence(rsaName, bits(sequence(integer(odd(modulus)), integer(odd(24))))));
  expect(isUsablePublicKey(text)).toBe(true);
  expect(isUsablePublicKey(`${text}\0`)).toBe(true);
  expect(isUsablePublicKey(publicOf(4_096))).toBe(true);
  expect(isUsablePublicKey(publicOf(4_104))).toBe(false);
  for (const other of [
    pem('PRIVATE KEY', dsaKey(1_024)),
    `${pem('PRIVATE KEY', dsaKey(1_024))}${text}`,
    `${text}${pem('PRIVATE KEY', dsaKey(1_024))}`,
    pem('PUBLIC KEY', explicitKey()),
    ec.publicKey.export({ type: 'spki', format: 'pem' }) as string,
  ])
    expect(isUsablePublicKey(other)).toBe(false);
});

it('takes certificates of named curves, with points that have both coordinates', () => {
  const usable = pem('CERTIFICATE', certificate(ec.publicKey.export({ type: 'spki', format: 'der' })));
  expect(usableCertificates(`a comment\n${usable}\n${usable}`)).toBe(`${usable}${usable}`);
  expect(usableCertificates('text')).toBeUndefined();
  for (const key of [explicitKey(), compressedKey()])
    expect(usableCertificates(usable + pem('CERTIFICATE', certificate(key)))).toBeUndefined();
});

it('PEM has no empty line, whatever its length', () => {
  expect(pem('X', Buffer.alloc(48))).toBe(`-----BEGIN X-----\n${'A'.repeat(64)}\n-----END X-----\n`);
  expect(pem('X', Buffer.alloc(49)).split('\n')[2]).toBe('AA==');
});
