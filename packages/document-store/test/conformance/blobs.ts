import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { createBlobs } from '../../src/blobs.ts';
import type { Context } from './cases.ts';

const megabyte = 1024 * 1024;

/** Each length is told by every byte, so that parts of two generations cannot be mixed unnoticed. */
function pattern(length: number): Uint8Array {
  return new Uint8Array(length).fill(length % 251);
}

export function describeBlobs({ store, account }: Context): void {
  const open = () => createBlobs(store(), 'blobs', randomUUID);
  const same = (a: Uint8Array | null, b: Uint8Array) => a !== null && Buffer.compare(a, b) === 0;

  it('keeps bytes of any length, and the newest of each id', async () => {
    const accountId = account();
    const blobs = open();
    for (const length of [0, 1, 4 * megabyte, 4 * megabyte + 1, 9 * megabyte, 10]) {
      await blobs.put(accountId, 'model', pattern(length));
      expect(same(await blobs.get(accountId, 'model'), pattern(length)), `${length} bytes`).toBe(true);
    }
    expect(await store().collection('blobsParts').count({ accountId })).toBe(1);
    expect(await blobs.get(account(), 'model')).toBeNull();
    await blobs.delete(accountId, 'model');
    expect(await blobs.get(accountId, 'model')).toBeNull();
    expect(await store().collection('blobsParts').count({ accountId })).toBe(0);
  });

  it('gives whole bytes while they are written anew', async () => {
    const accountId = account();
    const blobs = open();
    await blobs.put(accountId, 'model', pattern(megabyte));
    const writing = (async () => {
      for (let i = 1; i <= 5; i += 1) await blobs.put(accountId, 'model', pattern(megabyte + i));
    })();
    for (let i = 0; i < 10; i += 1) {
      const seen = await blobs.get(accountId, 'model');
      expect(same(seen, pattern(seen?.byteLength ?? 0))).toBe(true);
    }
    await writing;
    await Promise.all([blobs.put(accountId, 'model', pattern(7)), blobs.put(accountId, 'model', pattern(8))]);
    expect([7, 8]).toContain((await blobs.get(accountId, 'model'))?.byteLength);
  });
}
