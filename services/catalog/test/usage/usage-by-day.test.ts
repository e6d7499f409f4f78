import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DistinctSketch, sketchPlaceOf } from '@datahub/service-kit/distinct-sketch';
import { expect, it } from 'vitest';
import type { AuditDoc } from '../../src/documents.ts';
import { UsageByDay } from '../../src/usage/usage-by-day.ts';

const usersOf = (...names: string[]): string => {
  const sketch = new DistinctSketch();
  for (const name of names) sketch.add(sketchPlaceOf(name));
  return sketch.toBytes().toString('base64');
};
const entry = (keyId: string, at: string, more: Partial<AuditDoc> = {}) =>
  ({ keyId, resourceId: 'q', at: Date.parse(at), count: 10, failed: 1, ...more }) as AuditDoc;

it('takes the entry of a day in place of its hours, in any order', async () => {
  const usage = new UsageByDay('keyId');
  usage.add(entry('k', '2026-05-02T07:00:00Z', { users: usersOf('a') }));
  usage.add(entry('k', '2026-05-02T00:00:00Z', { count: 25, failed: 2, hours: 3, users: usersOf('b') }));
  usage.add(entry('k', '2026-05-02T00:00:00Z', { users: usersOf('a', 'c') }));
  const day = { day: '2026-05-02', count: 25, failed: 2 };
  expect(await usage.toDays()).toEqual([{ ...day, users: 3 }]);
  expect(await usage.toKeys(1)).toEqual({
    keys: [{ keyId: 'k', days: [day], count: 25, failed: 2, users: 3 }],
    totalKeys: 1,
  });
});

it('merges many sketches of one day', async () => {
  const usage = new UsageByDay('keyId');
  for (let i = 0; i < 200; i++)
    usage.add(entry('k', '2026-05-02T07:00:00Z', { users: usersOf(`user ${i % 100}`) }));
  const { users } = await usage.total();
  expect(Math.abs(users - 100)).toBeLessThan(8);
});

it('takes less than 400 bytes for a key and a day', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const bytes = () => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const usage = new UsageByDay('keyId');
  const users = usersOf('a');
  const before = bytes();
  for (let i = 0; i < 20_000; i++) usage.add(entry(`key ${i}`, '2026-05-02T07:00:00Z', { users }));
  expect((bytes() - before) / 20_000).toBeLessThan(400);
  expect(usage).toBeDefined();
});
