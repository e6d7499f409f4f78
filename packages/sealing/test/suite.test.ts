import { Aes256Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from '@hpke/core';
import { expect, test } from 'vitest';
import { createSuite } from '../src/suite.ts';

const fromHex = (text: string) => new Uint8Array(Buffer.from(text, 'hex')).buffer;
const toHex = (bytes: ArrayBuffer) => Buffer.from(bytes).toString('hex');

const ours = createSuite();
const theirs = new CipherSuite({
  kem: new DhkemX25519HkdfSha256(),
  kdf: new HkdfSha256(),
  aead: new Aes256Gcm(),
});
/** RFC 9180, A.1.1: the key encapsulation is the same whatever the cipher. */
const vector = {
  info: '4f6465206f6e2061204772656369616e2055726e',
  pkEm: '37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431',
  skEm: '52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736',
  pkRm: '3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d',
  skRm: '4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8',
  sharedSecret: 'fe0e18c9f024ce43799ae393c7e8fe8fce9d218875e8227b0187c04e7d2ea1fc',
};

async function pairOf({ kem }: CipherSuite, publicKey: string, privateKey: string) {
  return {
    publicKey: await kem.deserializePublicKey(fromHex(publicKey)),
    privateKey: await kem.deserializePrivateKey(fromHex(privateKey)),
  };
}

const ephemeral = (suite: CipherSuite) => pairOf(suite, vector.pkEm, vector.skEm);
const recipient = (suite: CipherSuite) => pairOf(suite, vector.pkRm, vector.skRm);

test('encapsulates and decapsulates as RFC 9180 says', async () => {
  const { kem } = ours;
  const recipientKey = await recipient(ours);
  const { enc, sharedSecret } = await kem.encap({
    recipientPublicKey: recipientKey.publicKey,
    ekm: await ephemeral(ours),
  });
  expect([toHex(enc), toHex(sharedSecret)]).toEqual([vector.pkEm, vector.sharedSecret]);
  expect(toHex(await kem.decap({ recipientKey, enc }))).toBe(vector.sharedSecret);
});

test('derives the keys that RFC 9180 derives', async () => {
  // A.1.1 with the cipher's number in the suite's id, of which every label is made.
  const { kdf } = createSuite();
  kdf.init(Uint8Array.from(Buffer.from('HPKE\0\x20\0\x01\0\x01', 'latin1')));
  const label = (text: string) => new TextEncoder().encode(text);
  const none = new Uint8Array();
  const pskIdHash = await kdf.labeledExtract(none, label('psk_id_hash'), none);
  const infoHash = await kdf.labeledExtract(none, label('info_hash'), new Uint8Array(fromHex(vector.info)));
  const context = new Uint8Array(
    Buffer.concat([Buffer.of(0), Buffer.from(pskIdHash), Buffer.from(infoHash)]),
  );
  const secret = await kdf.labeledExtract(fromHex(vector.sharedSecret), label('secret'), none);
  const expand = async (text: string, length: number) =>
    toHex(await kdf.labeledExpand(secret, label(text), context, length));
  expect([await expand('key', 16), await expand('base_nonce', 12)]).toEqual([
    '4531685d41d65f03dc48f6b8302c05b0',
    '56d890e5accaaf011cff4b7d',
  ]);
});

test.each([
  ['the library itself', theirs, ours],
  ['this suite', ours, theirs],
])('what %s seals the other opens', async (_, sender, receiver) => {
  const info = fromHex(vector.info);
  const aad = fromHex('436f756e742d30');
  const { publicKey } = await recipient(sender);
  const sealing = await sender.createSenderContext({ recipientPublicKey: publicKey, info });
  const opening = await receiver.createRecipientContext({
    recipientKey: await recipient(receiver),
    enc: sealing.enc,
    info,
  });
  for (const plain of ['', '00', 'ab'.repeat(64)]) {
    expect(toHex(await opening.open(await sealing.seal(fromHex(plain), aad), aad))).toBe(plain);
  }
});

test('both seal the same bytes with the same random numbers', async () => {
  const sealed = async (suite: CipherSuite) => {
    const { publicKey } = await recipient(suite);
    const params = { recipientPublicKey: publicKey, info: fromHex(vector.info), ekm: await ephemeral(suite) };
    return toHex(await (await suite.createSenderContext(params)).seal(fromHex('ab'), fromHex('01')));
  };
  expect(await sealed(ours)).toBe(await sealed(theirs));
});

test('a key that leaves no secret is refused', async () => {
  const recipientPublicKey = await ours.kem.deserializePublicKey(new ArrayBuffer(32));
  await expect(ours.createSenderContext({ recipientPublicKey })).rejects.toThrow();
  const recipientKey = await recipient(ours);
  await expect(ours.createRecipientContext({ recipientKey, enc: new ArrayBuffer(32) })).rejects.toThrow();
});

test('asks for no more than it derives', async () => {
  await expect(ours.kdf.expand(new ArrayBuffer(32), new ArrayBuffer(0), 33)).rejects.toThrow(RangeError);
});

test('extracts what RFC 5869 does with a salt longer than a block (A.2)', async () => {
  const bytesFrom = (first: number) => Uint8Array.from({ length: 80 }, (_, i) => first + i).buffer;
  expect(toHex(await ours.kdf.extract(bytesFrom(0x60), bytesFrom(0)))).toBe(
    '06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244',
  );
});

test.each([0, 31, 33, 64])('takes no public key of %i bytes', async (length) => {
  const bytes = new Uint8Array(length).fill(9).buffer;
  await expect(ours.kem.deserializePublicKey(bytes)).rejects.toThrow();
});

test('opens nothing whose tag was cut, which GCM itself would take', async () => {
  const [key, iv, none] = [new ArrayBuffer(32), new ArrayBuffer(12), new ArrayBuffer(0)];
  const context = ours.aead.createEncryptionContext(key);
  const sealed = await context.seal(iv, none, none);
  expect(sealed.byteLength).toBe(16);
  for (const bytes of [4, 8, 12, 15])
    await expect(context.open(iv, sealed.slice(0, bytes), none)).rejects.toThrow();
  expect(await context.open(iv, sealed, none)).toEqual(none);
});
