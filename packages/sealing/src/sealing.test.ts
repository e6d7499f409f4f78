import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { SealBinding } from './envelope.ts';
import { faultOfKey, generateKeyPair, type KeyPair, loadKeyFile, publicKeyOf } from './key-pair.ts';
import { createOpener, keyIdOf, type Opener } from './opener.ts';
import { createSealer, type Seal } from './sealer.ts';

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
  test('what was sealed opens again, any text, and never shows', async () => {
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

  test('the same secret never looks the same, nor tells its length', async () => {
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
    { field: 'user' },
  ])('is refused elsewhere: %j', async (other) => {
    const text = await seal('s3cret', binding);
    await expect(opener.open(text, { ...binding, ...other })).rejects.toMatchObject(refused);
  });

  test('members cannot run into each other', async () => {
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

  test('the refusal tells nothing of the secret or the place', async () => {
    const err = await opener
      .open(await seal('s3cret', binding), { ...binding, port: 1 })
      .catch((caught) => caught);
    expect(err.message).not.toMatch(/s3cret|db\.example|dh\.src/);
  });
});

describe('keys', () => {
  test('rotate: the first seals, all open, a dropped one does not', async () => {
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

  test('a public key follows from its private one', async () => {
    expect(await publicKeyOf(pair.privateKey)).toBe(pair.publicKey);
  });

  test('malformed ones are named without being shown', async () => {
    for (const text of ['', 'a', 'a:b', `${pair.publicKey}:x`, 'a b:AAAA', pair.publicKey.slice(0, -4)]) {
      expect(faultOfKey(text)).toBe('A sealing key has the form <id>:<32 bytes as base64url>.');
    }
    expect(faultOfKey(pair.publicKey)).toBeUndefined();
    await expect(createSealer([])).rejects.toThrow('no public key');
    await expect(createOpener([])).rejects.toThrow('no private key');
  });

  test('a key file is made once, for its owner alone', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'sealing-'));
    try {
      const path = join(dir, 'data', 'sealing-keys');
      const made = await Promise.all([loadKeyFile(path), loadKeyFile(path)]);
      expect(made[0]).toEqual(made[1]);
      expect(await loadKeyFile(path)).toEqual(made[0]);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(await readFile(path, 'utf8')).toBe(`${made[0]?.[0]}\n`);
    } finally {
      await rm(dir, { recursive: true });
    }
  });
});
