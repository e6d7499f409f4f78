import { expect, it } from 'vitest';
import { cpuMs } from '../../../tests/support/timing/longest-turn.ts';
import { type Digest, DigestTable, digestOf } from '../src/digest-table.ts';

const keys = Array.from({ length: 100_000 }, (_, i) => digestOf(String(i)));

it('has 100,000 entries, each once, also after a copy', () => {
  const table = new DigestTable(3);
  for (const [i, digest] of [...keys.entries(), ...keys.entries()]) table.set(digest, i + 1);
  const copy = new DigestTable(3, structuredClone(table.state));
  for (const one of [table, copy]) {
    expect(one.size).toBe(keys.length);
    expect(keys.findIndex((digest, i) => one.find(digest)?.[0] !== i + 1)).toBe(-1);
    expect(one.find(digestOf('unknown'))).toBeUndefined();
  }
});

it('tells digests with an equal half apart', () => {
  const table = new DigestTable(3);
  for (const digest of [
    [7, 1],
    [7, 2],
    [8, 1],
    [0, 0],
  ] as const) {
    expect(table.find(digest)).toBeUndefined();
    table.set(digest, 1);
  }
  expect(table.size).toBe(4);
});

/** The number of pauses, each of which ends in a later turn. */
function createPause() {
  let count = 0;
  const pause = () => {
    count++;
    return new Promise<void>((resolve) => setImmediate(resolve));
  };
  return { pause, count: () => count };
}

it('makes room in pieces, and can be read meanwhile', async () => {
  const table = new DigestTable(3);
  for (const [i, digest] of keys.entries()) table.set(digest, i + 1);
  const before = table.state.slots.length;
  const { pause, count } = createPause();
  const reserved = table.reserve(keys.length, pause);
  expect(table.find(keys[7] ?? [0, 0])?.[0]).toBe(8);
  await reserved;
  expect(count()).toBeGreaterThan(10);
  expect(table.state.slots.length).toBe(2 * before);
  expect(table.size).toBe(keys.length);
  expect(keys.findIndex((digest, i) => table.find(digest)?.[0] !== i + 1)).toBe(-1);
  await table.reserve(1, pause);
  expect(table.state.slots.length).toBe(2 * before);
});

it('removes entries in pieces, and finds the others', async () => {
  const { pause, count } = createPause();
  const table = new DigestTable(4);
  for (const [i, digest] of keys.entries()) table.set(digest, i, 1 + (i % 4));
  await table.filter(([, group]) => group !== 3, pause);
  expect(count()).toBeGreaterThan(10);
  expect(table.size).toBe(75_000);
  expect(keys.findIndex((digest, i) => (table.find(digest) === undefined) !== (i % 4 === 2))).toBe(-1);
});

it('takes no longer for digests that were chosen to need one place', async () => {
  const timeOf = async (digests: Digest[]) => {
    const begunAt = cpuMs();
    const table = new DigestTable(3);
    for (const digest of digests) table.set(digest, 1);
    await table.filter(
      () => true,
      () => undefined,
    );
    expect(table.size).toBe(digests.length);
    return cpuMs() - begunAt;
  };
  const chosen = keys.slice(0, 20_000).map((_, i): Digest => [((i << 18) + (i % 64)) >>> 0, i]);
  const usual = await timeOf(keys.slice(0, 20_000));
  expect(await timeOf(chosen)).toBeLessThan(10 * usual + 100);
});

it('reads a table without a seed, and gives it one when it grows', () => {
  const slots = new Uint32Array(64 * 3);
  slots.set([7, 1, 5], 7 * 3);
  slots.set([71, 2, 6], 8 * 3);
  const table = new DigestTable(3, { slots, size: 2 });
  const values = () => [[7, 1] as const, [71, 2] as const].map((digest) => table.find(digest)?.[0]);
  expect([values(), table.state.seed]).toEqual([[5, 6], 0]);
  for (const digest of keys.slice(0, 1_000)) table.set(digest, 1);
  expect(values()).toEqual([5, 6]);
  expect(table.state.seed).not.toBe(0);
});
