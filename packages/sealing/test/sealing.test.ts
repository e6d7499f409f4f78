import { statSync, watch } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { pad, parseEnvelope, type SealBinding, unpad } from '../src/envelope.ts';
import {
  faultOfKey,
  faultOfPrivateKey,
  faultOfPublicKey,
  generateKeyPair,
  type KeyPair,
  loadKeyFile,
  publicKeyOf,
} from '../src/key-pair.ts';
import { createOpener, keyIdOf, type Opener } from '../src/opener.ts';
import { createSealer, type Seal } from '../src/sealer.ts';

const binding: SealBinding = {
  sourceId: 'dh.src.1',
  engine: 'postgres',
  host: 'db.example',
  port: 5432,
  tlsMode: 'prefer',
  field: 'password',
};
let pair: KeyPair;
let seal: Seal;
let opener: Opener;
beforeAll(async () => {
  pair = await generateKeyPair();
  seal = await createSealer([pair.publicKey]);
  opener = await createOpener([pair.privateKey]);
});

const refused = { code: 'UNAVAILABLE', retryable: false };

describe('envelopes', () => {
  test('any sealed text can be opened again, and the envelope does not contain it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 200 }), async (plain) => {
        const text = await seal(plain, binding);
        expect(await opener.open(text, binding)).toBe(plain);
        if (plain.length > 6)
          expect(Buffer.from(text.split(':')[3] ?? '', 'base64url').includes(plain)).toBe(false);
      }),
      { numRuns: 100 },
    );
  });

  test('the same secret gives different envelopes, which hide its length', async () => {
    const texts = await Promise.all(['a', 'a', 'a'.repeat(60)].map((plain) => seal(plain, binding)));
    expect(new Set(texts).size).toBe(3);
    expect(new Set(texts.map(({ length }) => length)).size).toBe(1);
  });

  test.each<Partial<SealBinding>>([
    { sourceId: 'dh.src.2' },
    { engine: 'mysql' },
    { host: 'evil.example' },
    { port: 5433 },
    { tlsMode: 'disable' },
    { hosts: [{ host: 'evil.example', port: 5432 }] },
    { srv: true },
    { authMechanism: 'PLAIN' },
    { passwordFrom: { kind: 'aws-rds-iam', region: 'eu-central-1' } },
    { field: 'user' },
  ])('is refused elsewhere: %j', async (other) => {
    const text = await seal('s3cret', binding);
    await expect(opener.open(text, { ...binding, ...other })).rejects.toMatchObject(refused);
  });

  const [a, b] = [
    { host: 'a.example', port: 1 },
    { host: 'b.example', port: 1 },
  ];
  const passwordFrom = { kind: 'aws-rds-iam', region: 'eu-central-1' };
  test.each<Partial<SealBinding>>([
    { hosts: [b] },
    { hosts: [{ ...a, port: 2 }] },
    { hosts: [a, b] },
    { hosts: [] },
    { srv: false },
    { authMechanism: 'SCRAM-SHA-1' },
    { authMechanism: undefined },
    { passwordFrom: undefined },
    { passwordFrom: { ...passwordFrom, kind: 'other' } },
    { passwordFrom: { ...passwordFrom, region: 'us-east-1' } },
  ])('is refused for other servers: %j', async (other) => {
    const whole = { ...binding, hosts: [a], srv: true, authMechanism: 'PLAIN', passwordFrom };
    const text = await seal('s3cret', whole);
    expect(await opener.open(text, whole)).toBe('s3cret');
    await expect(opener.open(text, { ...whole, ...other })).rejects.toMatchObject(refused);
  });

  test('is the same for servers that are not named and for none', async () => {
    const none = { hosts: [], srv: false, authMechanism: '', passwordFrom: undefined };
    expect(await opener.open(await seal('s3cret', binding), { ...binding, ...none })).toBe('s3cret');
  });

  test('members of a binding cannot run into each other', async () => {
    const text = await seal('s3cret', { ...binding, sourceId: 'a', engine: 'b","c' });
    await expect(opener.open(text, { ...binding, sourceId: 'a","b', engine: 'c' })).rejects.toMatchObject(
      refused,
    );
  });

  test('every flipped byte is refused', async () => {
    const text = await seal('s3cret', binding);
    const [version, keyId, ...parts] = text.split(':');
    for (const [index, part] of parts.entries()) {
      const bytes = Buffer.from(part, 'base64url');
      for (let i = 0; i < bytes.length; i++) {
        const flipped = Buffer.from(bytes);
        flipped[i] = (flipped[i] as number) ^ 1;
        const altered = parts.with(index, flipped.toString('base64url'));
        await expect(opener.open([version, keyId, ...altered].join(':'), binding)).rejects.toMatchObject(
          refused,
        );
      }
    }
  });

  test.each(['', 'v1', 'v1:::', 'v2:a:b:c', 'plain text', 'v1:x:AA:AA:AA'])(
    '%j is no envelope',
    async (text) => {
      await expect(opener.open(text, binding)).rejects.toMatchObject(refused);
    },
  );

  const old = '1f1f9435fa8fed17';
  test.each<[Partial<SealBinding>, string]>([
    [
      {},
      'LRJhzgo7fxV7jHBcu491qtdx43eTMGkJI1zJuGEVJw4:vrxks1RKon4OqSf2pRVGn18Hex2tENSuLzmJhVSW6rxVMEJF9Ic2c2o5QCOGxRc8ij0WV4crrF1J-3Gt5w7njIFp62IrjKXmReC1GuAGY80',
    ],
    [
      { passwordFrom },
      'Q6vD1N0xzKUdnJd-J3xzkAUviKCzRxn8azvjTo6zHC8:z_xuTpukRHQvIlRjWU4P4vxc77V6whuOTXiJPhy9-E1P5KroMs73fgBc2KQErl2Z1PTtlz4kvmhRPzdCydTL1ZAwZEvdXeN7asEd53hO1_k',
    ],
    [
      { passwordFrom, hosts: [a], srv: true, authMechanism: 'PLAIN' },
      'LIkpV65UeIqQy4NNRZSycLWQ2AQvNUERzmnqbBUt6Ec:iImDxEk9T0JZaveO8-XhKJEBn6D9P9pD-UqROFXA4ebW5SPxZeG1HwgfIQGLmH3FPa_KTPVFSedqXUlnUmXNgMXJSb1Z0UQOMzSx5DHilWs',
    ],
  ])('of earlier versions can be opened: %j', async (other, sealed) => {
    const opener = await createOpener([`${old}:uO_d8_hkDbfavFhHFbao3sqGvVcBxoCQ0f2o7T-Jq3c`]);
    const text = `v1:${old}:${sealed}`;
    expect(await opener.open(text, { ...binding, ...other })).toBe('s3cret');
    expect(keyIdOf(text)).toBe(old);
    expect(parseEnvelope(text)).toMatchObject({ keyId: old });
  });

  test('an envelope has only one valid encoding', async () => {
    const text = await seal('s3cret', binding);
    for (const other of [
      `${text}:`,
      `${text}=`,
      ` ${text}`,
      text.replace('v1', 'v2'),
      text.replace('v1', ''),
      '::',
    ]) {
      expect(keyIdOf(other)).toBeUndefined();
      await expect(opener.open(other, binding)).rejects.toMatchObject({
        ...refused,
        cause: 'No key for this text.',
      });
    }
    expect(parseEnvelope('v1')).toEqual(undefined);
    expect(parseEnvelope('v1:::')).toEqual({
      keyId: '',
      encapsulated: Buffer.alloc(0),
      ciphertext: Buffer.alloc(0),
    });
    for (const short of ['v1:', 'v1::']) expect(parseEnvelope(short)).toBeUndefined();
  });

  test('padding is removed again, and bytes that are not text are refused', () => {
    for (const text of ['', 'a', 'x'.repeat(63), 'x'.repeat(64), 'ü\u0080'])
      expect(unpad(pad(text))).toBe(text);
    for (const length of [0, 63]) expect(pad('x'.repeat(length))).toHaveLength(64);
    for (const length of [64, 127]) expect(pad('x'.repeat(length))).toHaveLength(128);
    expect(() => unpad(Uint8Array.of(0xff, 0x80))).toThrow(TypeError);
  });

  test('the error says what to do, and its cause names the missing key', async () => {
    const other = await createOpener([(await generateKeyPair()).privateKey]);
    await expect(other.open(await seal('s3cret', binding), binding)).rejects.toMatchObject({
      ...refused,
      stage: 'connect',
      message: expect.stringContaining('Set user and password again'),
      cause: `No key for ${opener.currentKeyId}.`,
    });
  });

  test('the error reveals nothing about the secret or the source', async () => {
    const err = await opener
      .open(await seal('s3cret', binding), { ...binding, port: 1 })
      .catch((caught) => caught);
    expect(err.message).not.toMatch(/s3cret|db\.example|dh\.src/);
  });
});

describe('keys', () => {
  test('rotate: the first key seals, every listed key opens, a removed key does not', async () => {
    const next = await generateKeyPair();
    const old = await seal('s3cret', binding);
    const sealNext = await createSealer([next.publicKey, pair.publicKey]);
    const fresh = await sealNext('s3cret', binding);
    const both = await createOpener([next.privateKey, pair.privateKey]);
    expect(keyIdOf(fresh)).toBe(both.currentKeyId);
    expect(keyIdOf(old)).not.toBe(both.currentKeyId);
    expect(await both.open(old, binding)).toBe('s3cret');
    expect(await both.open(fresh, binding)).toBe('s3cret');
    const later = await createOpener([next.privateKey]);
    await expect(later.open(old, binding)).rejects.toMatchObject(refused);
  });

  test('a public key is derived from its private key', async () => {
    expect(await publicKeyOf(pair.privateKey)).toBe(pair.publicKey);
  });

  test('errors of malformed keys do not contain the key', async () => {
    for (const text of ['', 'a', 'a:b', `${pair.publicKey}:x`, 'a b:AAAA', pair.publicKey.slice(0, -4)]) {
      expect(faultOfKey(text)).toBe('A sealing key must have the form <id>:<32 bytes as base64url>.');
    }
    const [id, bytes] = pair.publicKey.split(':') as [string, string];
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    for (const odd of [`!${id}`, `${id}!`, ` ${id}`, 'x'.repeat(65), '']) {
      expect(faultOfKey(`${odd}:${bytes}`)).toMatch('A sealing key must have the form');
    }
    expect(faultOfKey(`${'x-_'.repeat(21)}9:${bytes}`)).toBeUndefined();
    expect(faultOfKey(pair.publicKey)).toBeUndefined();
    await expect(createOpener([id])).rejects.toThrow('A sealing key must have the form');
    await expect(createSealer([])).rejects.toThrow('no public key');
    await expect(createOpener([])).rejects.toThrow('no private key');
  });

  test('a public key in place of a private one, or the reverse, is reported without showing it', async () => {
    expect(faultOfPublicKey(pair.publicKey)).toBeUndefined();
    expect(await faultOfPrivateKey(pair.privateKey)).toBeUndefined();
    const [id] = pair.publicKey.split(':');
    const swapped = [faultOfPublicKey(pair.privateKey), await faultOfPrivateKey(pair.publicKey)];
    expect(swapped).toEqual([
      `The text after ${id} is not the public key of this id: it is the private key, or has a typo.`,
      `The text after ${id} is not the private key of this id: it is the public key, or has a typo.`,
    ]);
    expect(faultOfPublicKey('a')).toMatch('A sealing key must have the form');
    expect(await faultOfPrivateKey('a')).toMatch('A sealing key must have the form');
  });

  describe('of a file', () => {
    let dir: string;
    let path: string;
    beforeEach(async () => {
      dir = await mkdtemp(join(tmpdir(), 'sealing-'));
      path = join(dir, 'keys');
    });
    afterEach(() => rm(dir, { recursive: true }));

    const form = 'A sealing key must have the form <id>:<32 bytes as base64url>.';
    test.each([
      ['', 'It contains no key.'],
      ['something else\n', form],
      [`x:${'A'.repeat(43)}\nsomething else\n`, form],
    ])('are named with their fault: %j', async (text, fault) => {
      await writeFile(path, text);
      await expect(loadKeyFile(path)).rejects.toMatchObject({
        code: 'VALIDATION',
        message: `${path} cannot be used: ${fault}`,
      });
    });

    test('become readable by the owner only', async () => {
      await writeFile(path, pair.privateKey, { mode: 0o644 });
      expect(await loadKeyFile(path)).toEqual([pair.privateKey]);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
    });

    test('are not replaced by a new key if credentials are sealed already', async () => {
      const mayCreate = vi.fn(async () => false);
      await expect(loadKeyFile(path, mayCreate)).rejects.toMatchObject({
        code: 'VALIDATION',
        message: `${path} is missing, but the store has credentials that are sealed to its keys. Restore the file. If it is lost, run \`npm run datahub -- store forget-credentials\`: it removes the credentials and keeps everything else.`,
      });
      expect(await readdir(dir)).toEqual([]);
      await writeFile(path, pair.privateKey);
      expect(await loadKeyFile(path, mayCreate)).toEqual([pair.privateKey]);
      expect(mayCreate).toHaveBeenCalledTimes(1);
    });
  });

  test('a key file is never readable by others, not even while it is written', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'sealing-'));
    const modes = new Set<number>();
    const watcher = watch(dir, (_, name) => {
      const found = statSync(join(dir, name ?? ''), { throwIfNoEntry: false });
      if (found?.isFile()) modes.add(found.mode & 0o777);
    });
    try {
      for (let i = 0; i < 20; i++) await loadKeyFile(join(dir, `keys-${i}`));
      await vi.waitFor(() => expect(modes.size).toBeGreaterThan(0), 60_000);
      expect([...modes]).toEqual([0o600]);
    } finally {
      watcher.close();
      await rm(dir, { recursive: true });
    }
  });

  test('a key file is created once, readable only by its owner', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'sealing-'));
    try {
      const path = join(dir, 'data', 'sealing-keys');
      const made = await Promise.all([loadKeyFile(path), loadKeyFile(path)]);
      expect(made[0]).toEqual(made[1]);
      expect(await loadKeyFile(path)).toEqual(made[0]);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect((await stat(join(dir, 'data'))).mode & 0o777).toBe(0o700);
      expect(await readFile(path, 'utf8')).toBe(`${made[0]?.[0]}\n`);
      expect(await readdir(join(dir, 'data'))).toEqual(['sealing-keys']);
      await writeFile(path, ` ${pair.privateKey} \r\n\n${made[0]?.[0]}`);
      expect(await loadKeyFile(path)).toEqual([pair.privateKey, made[0]?.[0]]);
    } finally {
      await rm(dir, { recursive: true });
    }
  });
});
