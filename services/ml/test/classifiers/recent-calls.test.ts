import { hash } from 'node:crypto';
import { expect, it } from 'vitest';
import { keyedCallsMax, RecentCalls } from '../../src/classifiers/recent-calls.ts';

const keyed = (name: number) => hash('sha256', `${name}`, 'base64url');
const day = 86_400_000;

it('knows a bounded number of calls with an Idempotency-Key, each for as long as it can be repeated', () => {
  const calls = new RecentCalls();
  for (let i = 0; i < keyedCallsMax; i++) calls.add(keyed(i), [], i);
  calls.trim(0);
  expect(calls.get(keyed(0))).toBeUndefined();
  expect(calls.has(keyed(0))).toBe(true);
  expect(calls.hasRoomFor(keyed(-1), day)).toBe(false);
  expect(calls.hasRoomFor('a call without a key', day)).toBe(true);
  const restored = new RecentCalls(calls.state);
  expect([restored.has(keyed(0)), restored.has(keyed(-1))]).toEqual([true, false]);
  expect(calls.hasRoomFor(keyed(-1), 2 * day)).toBe(true);
  expect(calls.has(keyed(0))).toBe(false);
});
